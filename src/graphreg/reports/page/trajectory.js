"use strict";

/* The trajectory page: trajectory and map in one panel. */

(() => {
  const data = JSON.parse(element("data").textContent);

  let recolour = () => {};

  if (data) {
    const clouds = data.clouds.map((cloud) => ({
      ...cloud,
      positions: new Uint16Array(bytes(cloud.positions).buffer),
      levels: bytes(cloud.levels),
    }));
    const viewer = new SinglePanelViewer(element("clouds"), clouds, data.view, [IDENTITY, IDENTITY]);
    const palette = bytes(data.palette);
    recolour = () => {
      const [track, heights] = clouds.map(() => new Uint8Array(1024).fill(255));
      ["--target", "--outlier", "--source", "--fifth"].forEach((name, level) => track.set(themed(name), 4 * level));
      for (let level = 0; level < 255; level++) heights.set(palette.subarray(3 * level, 3 * level + 3), 4 * level);
      heights.set(themed("--unknown"), 4 * 255);
      drawScale(data.heights, heights);
      viewer.colour(
        [{ levels: clouds[0].levels, colours: track }, { levels: clouds[1].levels, colours: heights }],
        themed("--stage"),
      );
    };
    connectControls(viewer);
  }

  document.addEventListener("themechange", recolour);
  recolour();
})();
