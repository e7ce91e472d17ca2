"use strict";

/* The multiway page: each scan has a pose before and after registration, and a colour of its own. */

/** One panel of all scans, which fit into a sphere about the origin. */
function sceneView(box, clouds, poses, radius, camera, ratio, pointScale) {
  const extent = halfExtent(box), perUnit = (extent * camera.zoom) / radius;
  const views = clouds.map((cloud, i) => {
    const size = pointSize(cloud, perUnit, ratio) * pointScale;
    const matrix = toPixels(cloud, poses[i], { centre: [0, 0, 0], radius }, camera, extent);
    return { matrix, size, outlierSize: size };
  });
  return { box, depthRange: DEPTH_RANGE * extent * camera.zoom, views };
}

/** A viewer of any number of scans; `ends` are lists of poses, one list for each panel, and `radii` those of the scenes. */
class MultiwayViewer extends Viewer {
  constructor(canvas, clouds, view, ends, radii) {
    super(canvas, clouds, view, ends);
    this.radii = radii;
  }

  home() {
    this.camera = { rotation: this.view, zoom: 0.95, pan: [0, 0] };
    this.moved = false;
    this.redraw();
  }

  panelView(number, box, ratio) {
    return sceneView(box, this.clouds, this.ends[number], this.radii[number], this.camera, ratio, this.pointScale);
  }
}

(() => {
  const data = JSON.parse(element("data").textContent);
  const clouds = data.clouds.map((cloud) => ({
    ...cloud,
    inliers: cloud.points,
    positions: new Uint16Array(bytes(cloud.positions).buffer),
  }));
  const viewer = new MultiwayViewer(element("clouds"), clouds, data.view, [data.before, data.after], data.radii);
  viewer.shown.clouds = clouds.map(() => true);

  function recolour() {
    const colouring = clouds.map((cloud) => {
      const colours = new Uint8Array(1024).fill(255);
      colours.set(cloud.colour, 0);
      return { levels: new Uint8Array(cloud.points), colours };
    });
    viewer.colour(colouring, themed("--stage"));
  }

  connectControls(viewer);
  document.addEventListener("themechange", recolour);
  recolour();
})();
