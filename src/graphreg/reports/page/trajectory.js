"use strict";

/* The page on a drive: the way and the map in one panel. */

(() => {
  const element = (id) => document.getElementById(id);
  const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const data = JSON.parse(element("data").textContent);

  /** A viewer of one panel, in which nothing moves. */
  class MapViewer extends Viewer {
    boxes(width, height) {
      return [{ left: 0, top: 0, width, height }];
    }

    within(event) {
      const { left, top, width, height } = this.canvas.getBoundingClientRect();
      const reach = halfOf({ width, height });
      return [(event.clientX - left - width / 2) / reach, (top + height / 2 - event.clientY) / reach];
    }
  }

  /** A colour of the theme as red, green, blue from 0 to 255. */
  function themed(name) {
    const hex = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  }

  let recolour = () => {};

  if (data) {
    const clouds = data.clouds.map((cloud) => ({
      ...cloud,
      onSurface: cloud.on_surface,
      nearSurface: cloud.near_surface,
      places: new Uint16Array(bytes(cloud.places).buffer),
      shades: bytes(cloud.shades),
    }));
    const viewer = new MapViewer(element("clouds"), clouds, data.view, [AT_REST, AT_REST]);
    const palette = bytes(data.palette);
    recolour = () => {
      const [way, heights] = clouds.map(() => new Uint8Array(1024).fill(255));
      ["--target", "--stray", "--source"].forEach((name, level) => way.set(themed(name), 4 * level));
      for (let level = 0; level < 255; level++) heights.set(palette.subarray(3 * level, 3 * level + 3), 4 * level);
      heights.set(themed("--unknown"), 4 * 255);
      viewer.colour(
        [{ levels: clouds[0].shades, colours: way }, { levels: clouds[1].shades, colours: heights }],
        themed("--stage"),
      );
    };
    for (const box of document.querySelectorAll("[name=show]")) {
      box.addEventListener("change", () => {
        viewer.shown.clouds[Number(box.value)] = box.checked;
        viewer.redraw();
      });
    }
    element("size").addEventListener("input", (event) => {
      viewer.dots = 2 ** event.target.value;
      viewer.redraw();
    });
    element("home").addEventListener("click", () => viewer.home());
  }

  document.addEventListener("dressed", recolour);
  recolour();
})();
