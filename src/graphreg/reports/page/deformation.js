"use strict";

/* The deformation page: the source moves from frame to frame; between two frames its points are interpolated. */

(() => {
  const data = JSON.parse(element("data").textContent);
  const frames = data.frames.map((frame) => ({
    ...frame,
    source: new Uint16Array(bytes(frame.source).buffer),
    target: new Uint16Array(bytes(frame.target).buffer),
    levels: bytes(frame.levels),
  }));
  const last = frames.length - 1;
  // As many points as any frame has, so that every buffer of levels is long enough.
  const most = Math.max(...frames.map((frame) => frame.target.length / 3));
  const cloud = (positions) => ({ ...data.box, positions, points: positions.length / 3, inliers: positions.length / 3 });
  const clouds = [
    { ...cloud(frames[last].source), spacing: data.spacings[0] },
    { ...cloud(frames[last].target), spacing: data.spacings[1] },
  ];
  const viewer = new SinglePanelViewer(element("clouds"), clouds, data.view, [IDENTITY, IDENTITY]);
  const palette = bytes(data.palette);
  const positions = frames[0].source.slice(), levels = frames[0].levels.slice();
  const plain = [new Uint8Array(levels.length), new Uint8Array(most)];

  /* Colours */

  function recolour() {
    const byStrain = document.querySelector("[name=colour]:checked").value === "strain";
    const [source, target] = clouds.map(() => new Uint8Array(1024).fill(255));
    if (byStrain) {
      for (let level = 0; level < 255; level++) source.set(palette.subarray(3 * level, 3 * level + 3), 4 * level);
      source.set(themed("--unknown"), 4 * 255);
      drawScale(data.strain, source);
    } else source.set(themed("--source"), 0);
    target.set(themed(byStrain ? "--unknown" : "--target"), 0);
    element("legend").hidden = !byStrain;
    viewer.colour(
      [{ levels: byStrain ? levels : plain[0], colours: source }, { levels: plain[1], colours: target }],
      themed("--stage"),
    );
  }

  element("colours").addEventListener("change", recolour);
  connectControls(viewer);

  /* Playback */

  const slider = element("time"), subframes = Math.max(1, Math.round(120 / last));
  slider.max = last * subframes;
  slider.value = slider.max;

  function show() {
    const at = slider.value / subframes, index = Math.min(Math.floor(at), last - 1), share = at - index;
    const from = frames[index], to = frames[index + 1], nearest = share < 0.5 ? from : to;
    for (let i = 0; i < positions.length; i++) positions[i] = from.source[i] + share * (to.source[i] - from.source[i]);
    for (let i = 0; i < levels.length; i++) levels[i] = from.levels[i] + share * (to.levels[i] - from.levels[i]);
    viewer.renderer.move(0, positions);
    viewer.renderer.move(1, nearest.target);
    const between = share > 0.02 && share < 0.98 ? `${Math.round(100 * share)} % of the way to ${to.name}` : nearest.name;
    element("frame").textContent = between;
    element("progress").value = nearest.note;
    slider.setAttribute("aria-valuetext", `${between}, ${nearest.note}`);
    recolour();
  }

  connectPlayback(slider, "deformation", last > 1 ? Math.min(12, 2 * last) : 4, show);
  document.addEventListener("themechange", recolour);
  show();
})();
