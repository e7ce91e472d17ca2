"use strict";

/* Many scans at once: each has a pose before and a pose after, and a colour of its own. */

/** A panel about the middle of all scans, which fit into a ball of radius 1. */
function wholeView(box, clouds, poses, camera, ratio, dots) {
  const reach = halfOf(box), perUnit = reach * camera.zoom;
  const views = clouds.map((cloud, i) => {
    const dot = Math.min(Math.max(1.6 * cloud.spacing * perUnit, 1.4 * ratio), 14 * ratio) * dots;
    return { matrix: toPixels(cloud, poses[i], { middle: [0, 0, 0], radius: 1 }, camera, reach), dot, speck: dot };
  });
  return { box, deep: DEEP * perUnit, views };
}

/** As the viewer of two scans; poses are lists, one for each panel. */
class ManyViewer extends Viewer {
  home() {
    this.camera = { turn: this.view, zoom: 0.95, pan: [0, 0] };
    this.touched = false;
    this.redraw();
  }

  panelView(number, box, ratio) {
    return wholeView(box, this.clouds, this.ends[number], this.camera, ratio, this.dots);
  }
}

(() => {
  const data = JSON.parse(element("data").textContent);
  const clouds = data.clouds.map((cloud) => ({
    ...cloud,
    onSurface: cloud.points,
    nearSurface: cloud.points,
    places: new Uint16Array(bytes(cloud.places).buffer),
  }));
  const viewer = new ManyViewer(element("clouds"), clouds, data.view, [data.before, data.after]);
  viewer.shown.clouds = clouds.map(() => true);

  function recolour() {
    const paints = clouds.map((cloud) => {
      const colours = new Uint8Array(1024).fill(255);
      colours.set(cloud.colour, 0);
      return { levels: new Uint8Array(cloud.points), colours };
    });
    viewer.colour(paints, themed("--stage"));
  }

  tieControls(viewer);
  document.addEventListener("dressed", recolour);
  recolour();
})();
