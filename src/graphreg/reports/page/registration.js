"use strict";

/* The registration page: reads the embedded data and connects the controls to the viewer. */

(() => {
  const data = JSON.parse(element("data").textContent);
  const clouds = data.clouds.map((cloud) => ({
    ...cloud,
    positions: new Uint16Array(bytes(cloud.positions).buffer),
    levels: {
      ...Object.fromEntries(Object.entries(cloud.levels).map(([name, text]) => [name, bytes(text)])),
      scans: new Uint8Array(cloud.points),
      outliers: new Uint8Array(cloud.points).fill(1, cloud.inliers),
    },
  }));
  const palette = bytes(data.palette);
  const { frames } = data, last = frames.length - 1;
  const viewer = new Viewer(element("clouds"), clouds, data.view, [frames[0], frames[last]]);

  /* Colours */

  const LEGENDS = {
    residual: "distance to the other scan after registration",
    intensity: "response intensity I, logarithmic",
    variation: "local variation of the surface, logarithmic",
    outliers: "red: outliers",
  };

  /** The colours of the 256 levels, as red, green, blue, alpha. */
  function coloursOf(mode, cloud) {
    const colours = new Uint8Array(1024).fill(255);
    const set = (level, rgb) => colours.set(rgb, 4 * level);
    if (mode === "scans") set(0, themed(cloud ? "--target" : "--source"));
    else if (mode === "outliers") ["--unknown", "--outlier"].forEach((name, level) => set(level, themed(name)));
    else {
      for (let level = 0; level < 255; level++) set(level, palette.subarray(3 * level, 3 * level + 3));
      set(255, themed("--unknown"));
    }
    return colours;
  }

  function recolour() {
    const mode = document.querySelector("[name=colour]:checked").value;
    const colouring = clouds.map((cloud, i) => ({ levels: cloud.levels[mode], colours: coloursOf(mode, i) }));
    viewer.colour(colouring, themed("--stage"));
    const ends = data.legends[mode];
    element("legend").hidden = mode === "scans";
    element("legend-title").textContent = LEGENDS[mode] ?? "";
    element("legend-bar").parentElement.hidden = !ends;
    if (ends) drawScale(ends, coloursOf(mode, 0));
  }

  element("colours").addEventListener("change", recolour);
  connectControls(viewer, (value, checked) => {
    if (value === "outliers") viewer.shown.outliers = checked;
    else viewer.shown.clouds[value === "source" ? 0 : 1] = checked;
  });

  /* Playback of the iterations; between two frames the pose is interpolated */

  const slider = element("iteration");
  const subframes = Math.max(1, Math.round(120 / last));
  slider.max = last * subframes;
  slider.value = slider.max;
  const capital = (text) => text[0].toUpperCase() + text.slice(1);
  const short = (number) => Number(number.toPrecision(3)).toString();

  function label(panel, name, shortened) {
    panel.textContent = name;
    if (!shortened) return;
    const note = document.createElement("small");
    note.textContent = "displayed closer together than they are";
    panel.append(note);
  }

  function show() {
    const at = slider.value / subframes, index = Math.min(Math.floor(at), last - 1), share = at - index;
    const from = frames[index], to = frames[index + 1], nearest = share < 0.5 ? from : to;
    viewer.setPose(interpolatePose(from, to, share));
    const name = capital(nearest.name);
    label(element("after"), name, nearest.shortened);
    const remaining = nearest === frames[last]
      ? "final pose"
      : `${short(nearest.degrees)}° and ${short(nearest.distance)} from the final pose`;
    element("progress").value = `${name}: ${remaining}`;
    slider.setAttribute("aria-valuetext", `${name}, ${remaining}`);
    moveCursors(from.iteration + share * (to.iteration - from.iteration));
  }

  /** Mark the iteration in each chart over the iterations. */
  function moveCursors(iteration) {
    for (const chart of document.querySelectorAll(".over-iterations")) {
      const { points } = chart.querySelector("polyline"), frame = chart.querySelector(".frame");
      const { first, last: end } = chart.dataset;
      const share = (iteration - first) / (end - first);
      const x = points[0].x + share * (points[points.length - 1].x - points[0].x);
      let line = chart.querySelector(".cursor");
      if (!line) {
        line = document.createElementNS("http://www.w3.org/2000/svg", "path");
        line.setAttribute("class", "cursor");
        chart.querySelector("svg").append(line);
      }
      line.setAttribute("visibility", share >= 0 ? "visible" : "hidden");
      line.setAttribute("d", `M${x},${frame.y.baseVal.value}v${frame.height.baseVal.value}`);
    }
  }

  connectPlayback(slider, "iterations", 4, show);

  /* The matrix */

  function copyBySelection(text) {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }

  element("copy").addEventListener("click", async () => {
    const text = element("matrix").textContent;
    const done = await navigator.clipboard?.writeText(text).then(() => true, () => false) || copyBySelection(text);
    element("copied").textContent = done ? "copied" : "select the matrix and copy it";
  });

  label(element("before"), "Before", frames[0].shortened);
  document.addEventListener("themechange", recolour);
  recolour();
  show();
})();
