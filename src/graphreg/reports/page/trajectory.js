"use strict";

/* The page on a drive: the way and the map in one panel. */

(() => {
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
    tieControls(viewer);
  }

  document.addEventListener("dressed", recolour);
  recolour();
})();
