"use strict";

/* The interactive picture of point clouds: poses, camera, two renderers (WebGL 2 and plain canvas), and the viewer.

   Lengths are in units of the larger cloud's radius. A pose is {rotation: quaternion x y z w, translation}: points are
   rotated about the centre of their cloud, which moves to `translation`. Matrices are in row-major order. */

// The depth buffer covers this many radii in front of and behind the centre.
const DEPTH_RANGE = 8;
// Strength of the eye-dome lighting, as in the still pictures.
const SHADOW = 0.07;

/* ---- poses ---- */

const IDENTITY = { rotation: [0, 0, 0, 1], translation: [0, 0, 0] };

/** Interpolate between two poses: spherical linear in the rotation, linear in the translation. */
function interpolatePose(from, to, share) {
  const mix = (a, b, p, q) => a.map((value, i) => p * value + q * b[i]);
  let cosine = from.rotation.reduce((sum, value, i) => sum + value * to.rotation[i], 0);
  // A quaternion and its negative are the same rotation: interpolate to the nearer one.
  const nearer = cosine < 0 ? to.rotation.map((value) => -value) : to.rotation;
  cosine = Math.min(1, Math.abs(cosine));
  const angle = Math.acos(cosine), sine = Math.sin(angle);
  const linear = [1 - share, share];
  const weights = sine < 1e-6 ? linear : linear.map((part) => Math.sin(part * angle) / sine);
  const rotation = mix(from.rotation, nearer, ...weights);
  const length = Math.hypot(...rotation);
  return {
    rotation: rotation.map((value) => value / length),
    translation: mix(from.translation, to.translation, ...linear),
  };
}

function rotationMatrix([x, y, z, w]) {
  return [
    1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w),
    2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w),
    2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y),
  ];
}

/** Rotation by `angle` radians about axis 0, 1 or 2. */
function axisRotation(axis, angle) {
  const half = angle / 2, rotation = [0, 0, 0, Math.cos(half)];
  rotation[axis] = Math.sin(half);
  return rotationMatrix(rotation);
}

function product(a, b) {
  return a.map((_, at) => {
    const row = 3 * Math.floor(at / 3), column = at % 3;
    return a[row] * b[column] + a[row + 1] * b[3 + column] + a[row + 2] * b[6 + column];
  });
}

function apply(matrix, point) {
  return [0, 3, 6].map((row) => matrix[row] * point[0] + matrix[row + 1] * point[1] + matrix[row + 2] * point[2]);
}

/* ---- camera ---- */

/** The bounding sphere of the target at the origin and of the source at `translation`. */
function boundingSphere(translation, sourceRadius, targetRadius) {
  const distance = Math.hypot(...translation);
  if (distance + sourceRadius <= targetRadius) return { centre: [0, 0, 0], radius: targetRadius };
  if (distance + targetRadius <= sourceRadius) return { centre: translation, radius: sourceRadius };
  const radius = (distance + sourceRadius + targetRadius) / 2;
  return { centre: translation.map((value) => (value * (radius - targetRadius)) / distance), radius };
}

/** Half of the smaller of a panel's width and height. */
function halfExtent({ width, height }) {
  return Math.min(width, height) / 2;
}

/** The 3x4 matrix from quantised positions to pixels about the centre of a panel, y up, z towards the viewer. */
function toPixels(cloud, pose, sphere, camera, extent) {
  const scale = (extent * camera.zoom) / sphere.radius;
  const rotation = product(camera.rotation, rotationMatrix(pose.rotation));
  const offset = apply(camera.rotation, pose.translation.map((value, i) => value - sphere.centre[i]));
  const low = apply(rotation, cloud.low);
  const rows = [];
  for (let row = 0; row < 3; row++) {
    for (let column = 0; column < 3; column++) rows.push(scale * rotation[3 * row + column] * cloud.step[column]);
    rows.push(scale * (offset[row] + low[row]) + (row < 2 ? extent * camera.pan[row] : 0));
  }
  return rows;
}

/** Diameter of a point in pixels, just large enough to close surfaces. */
function pointSize(cloud, perUnit, ratio) {
  return Math.min(Math.max(1.6 * cloud.spacing * perUnit, 1.4 * ratio), 14 * ratio);
}

/** What a renderer needs for one panel: its box in pixels of the canvas, and the matrix and point sizes of each cloud. */
function panelView(box, clouds, poses, camera, ratio, pointScale) {
  const extent = halfExtent(box);
  const sphere = boundingSphere(poses[0].translation, clouds[0].radius, clouds[1].radius);
  const perUnit = (extent * camera.zoom) / sphere.radius;
  const views = clouds.map((cloud, i) => ({
    matrix: toPixels(cloud, poses[i], sphere, camera, extent),
    size: pointSize(cloud, perUnit, ratio) * pointScale,
    // Outliers stay small, so that they do not hide the surfaces.
    outlierSize: Math.min(Math.max(cloud.spacing * perUnit, 1.4 * ratio), 3 * ratio) * pointScale,
  }));
  return { box, depthRange: DEPTH_RANGE * extent * camera.zoom, views };
}

/** The camera that fits the clouds into panels of a shape, in each of some poses of the source. */
function fitCamera(clouds, poses, rotation, shape) {
  const camera = { rotation, zoom: 1, pan: [0, 0] }, ends = [[Infinity, -Infinity], [Infinity, -Infinity]];
  for (const pose of poses) {
    const sphere = boundingSphere(pose.translation, clouds[0].radius, clouds[1].radius);
    clouds.forEach((cloud, i) => {
      const m = toPixels(cloud, i ? IDENTITY : pose, sphere, camera, 1);
      const stride = Math.ceil(cloud.inliers / 4000);
      const projected = [[], []];
      for (let at = 0; at < cloud.inliers; at += stride) {
        const [a, b, c] = cloud.positions.subarray(3 * at, 3 * at + 3);
        projected[0].push(m[0] * a + m[1] * b + m[2] * c + m[3]);
        projected[1].push(m[4] * a + m[5] * b + m[6] * c + m[7]);
      }
      projected.forEach((values, axis) => {
        values.sort((x, y) => x - y);
        // A hundredth at each end may be outside: isolated points would shrink the rest.
        const spare = Math.floor(values.length / 100);
        ends[axis][0] = Math.min(ends[axis][0], values[spare]);
        ends[axis][1] = Math.max(ends[axis][1], values[values.length - 1 - spare]);
      });
    });
  }
  const zoom = Math.min(...ends.map(([low, high], axis) => (1.66 * shape[axis]) / Math.max(high - low, 1e-6)), 4);
  return { rotation, zoom, pan: ends.map(([low, high]) => (-zoom * (low + high)) / 2) };
}

/* ---- renderers ---- */

/** The ranges of a cloud's points to draw, each with its point size: [size, first, last]. */
function pointRanges(cloud, { size, outlierSize }, outliers) {
  if (!outliers) return [[size, 0, cloud.inliers]];
  return [[size, 0, cloud.inliers], [outlierSize, cloud.inliers, cloud.points]];
}

const VERTEX = `#version 300 es
in vec3 position;
in float level;
uniform mat4 projection;
uniform float size;
uniform sampler2D colours;
flat out vec3 colour;
void main() {
  gl_Position = projection * vec4(position, 1.0);
  gl_PointSize = size;
  colour = texelFetch(colours, ivec2(int(level), 0), 0).rgb;
}`;

// Points are domes: between two points of one surface the closer one takes the pixel.
const POINT = `#version 300 es
precision highp float;
flat in vec3 colour;
uniform float dome;
out vec4 result;
void main() {
  vec2 offset = 2.0 * gl_PointCoord - 1.0;
  float square = dot(offset, offset);
  if (square > 1.0) discard;
  gl_FragDepth = gl_FragCoord.z + dome * (1.0 - sqrt(1.0 - square));
  result = vec4(colour, 1.0);
}`;

// One triangle that covers the viewport.
const FULL_SCREEN = `#version 300 es
void main() {
  gl_Position = vec4(vec2(gl_VertexID % 2, gl_VertexID / 2) * 4.0 - 1.0, 0.0, 1.0);
}`;

// Eye-dome lighting: darken pixels behind their surroundings.
const SHADE = `#version 300 es
precision highp float;
uniform sampler2D picture;
uniform highp sampler2D depths;
uniform vec3 background;
uniform float pixels;
uniform float ratio;
out vec4 result;
float depthAt(ivec2 at) {
  return texelFetch(depths, clamp(at, ivec2(0), textureSize(depths, 0) - 1), 0).r;
}
void main() {
  ivec2 at = ivec2(gl_FragCoord.xy);
  float here = depthAt(at);
  if (here >= 1.0) {
    result = vec4(background, 1.0);
    return;
  }
  float hidden = 0.0;
  for (int ring = 0; ring < 2; ring++) {
    float radius = ratio * (ring == 0 ? 1.6 : 4.5);
    for (int k = 0; k < 8; k++) {
      float angle = float(k) * 0.7853982;
      float beside = depthAt(at + ivec2(round(radius * vec2(cos(angle), sin(angle)))));
      hidden += clamp((here - beside) * pixels / radius, 0.0, 2.5) * 0.5;
    }
  }
  result = vec4(texelFetch(picture, at, 0).rgb * exp(-${SHADOW} * hidden), 1.0);
}`;

/** Renders with WebGL 2. The constructor throws where it is not available. */
class GlRenderer {
  constructor(canvas, clouds) {
    const gl = canvas.getContext("webgl2", { antialias: false, alpha: false });
    if (!gl) throw new Error("no WebGL 2");
    this.gl = gl;
    this.kind = "webgl2";
    this.points = this.program(VERTEX, POINT);
    this.shade = this.program(FULL_SCREEN, SHADE);
    this.empty = gl.createVertexArray();
    this.clouds = clouds.map((cloud) => this.upload(cloud));
    this.target = null;
  }

  program(vertex, fragment) {
    const gl = this.gl, program = gl.createProgram();
    for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.bindAttribLocation(program, 0, "position");
    gl.bindAttribLocation(program, 1, "level");
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program));
    const uniforms = {};
    for (let i = 0; i < gl.getProgramParameter(program, gl.ACTIVE_UNIFORMS); i++) {
      const { name } = gl.getActiveUniform(program, i);
      uniforms[name] = gl.getUniformLocation(program, name);
    }
    return { program, uniforms };
  }

  upload(cloud) {
    const gl = this.gl, array = gl.createVertexArray(), buffer = gl.createBuffer(), places = gl.createBuffer();
    gl.bindVertexArray(array);
    gl.bindBuffer(gl.ARRAY_BUFFER, places);
    gl.bufferData(gl.ARRAY_BUFFER, cloud.positions, gl.STATIC_DRAW);
    gl.enableVertexAttribArray(0);
    gl.vertexAttribPointer(0, 3, gl.UNSIGNED_SHORT, false, 0, 0);
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.enableVertexAttribArray(1);
    gl.vertexAttribPointer(1, 1, gl.UNSIGNED_BYTE, false, 0, 0);
    return { ...cloud, array, buffer, places, colours: this.texture() };
  }

  /** Move the points of a cloud, as many as before or fewer. */
  move(number, positions) {
    const gl = this.gl, cloud = this.clouds[number];
    cloud.points = cloud.inliers = positions.length / 3;
    gl.bindBuffer(gl.ARRAY_BUFFER, cloud.places);
    gl.bufferData(gl.ARRAY_BUFFER, positions, gl.DYNAMIC_DRAW);
  }

  texture() {
    const gl = this.gl, texture = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, texture);
    for (const [name, value] of [
      [gl.TEXTURE_MIN_FILTER, gl.NEAREST], [gl.TEXTURE_MAG_FILTER, gl.NEAREST],
      [gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE], [gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE],
    ]) gl.texParameteri(gl.TEXTURE_2D, name, value);
    return texture;
  }

  /** Set the level from 0 to 255 of each point, and the colour of each level, for every cloud. */
  colour(colouring) {
    const gl = this.gl;
    this.clouds.forEach((cloud, i) => {
      gl.bindBuffer(gl.ARRAY_BUFFER, cloud.buffer);
      gl.bufferData(gl.ARRAY_BUFFER, colouring[i].levels, gl.STATIC_DRAW);
      gl.bindTexture(gl.TEXTURE_2D, cloud.colours);
      gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, 256, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, colouring[i].colours);
    });
  }

  resize(width, height) {
    if (this.target && this.target.width === width && this.target.height === height) return;
    const gl = this.gl;
    if (this.target) {
      gl.deleteTexture(this.target.picture);
      gl.deleteTexture(this.target.depths);
      gl.deleteFramebuffer(this.target.buffer);
    }
    const buffer = gl.createFramebuffer(), picture = this.texture();
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA8, width, height, 0, gl.RGBA, gl.UNSIGNED_BYTE, null);
    const depths = this.texture();
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.DEPTH_COMPONENT24, width, height, 0, gl.DEPTH_COMPONENT, gl.UNSIGNED_INT, null);
    gl.bindFramebuffer(gl.FRAMEBUFFER, buffer);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, picture, 0);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.DEPTH_ATTACHMENT, gl.TEXTURE_2D, depths, 0);
    this.target = { width, height, buffer, picture, depths };
  }

  render(width, height, panels, shown, background, ratio) {
    const gl = this.gl;
    this.resize(width, height);
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.target.buffer);
    gl.disable(gl.SCISSOR_TEST);
    gl.viewport(0, 0, width, height);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.enable(gl.DEPTH_TEST);
    gl.enable(gl.SCISSOR_TEST);
    gl.useProgram(this.points.program);
    gl.activeTexture(gl.TEXTURE0);
    gl.uniform1i(this.points.uniforms.colours, 0);
    for (const { box, depthRange, views } of panels) this.drawPoints(height, box, depthRange, views, shown);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    gl.disable(gl.DEPTH_TEST);
    gl.useProgram(this.shade.program);
    gl.bindVertexArray(this.empty);
    gl.bindTexture(gl.TEXTURE_2D, this.target.picture);
    gl.activeTexture(gl.TEXTURE1);
    gl.bindTexture(gl.TEXTURE_2D, this.target.depths);
    gl.uniform1i(this.shade.uniforms.picture, 0);
    gl.uniform1i(this.shade.uniforms.depths, 1);
    gl.uniform3fv(this.shade.uniforms.background, background.map((channel) => channel / 255));
    gl.uniform1f(this.shade.uniforms.ratio, ratio);
    for (const { box, depthRange } of panels) {
      gl.viewport(0, 0, width, height);
      gl.scissor(box.left, height - box.top - box.height, box.width, box.height);
      gl.uniform1f(this.shade.uniforms.pixels, 2 * depthRange);
      gl.drawArrays(gl.TRIANGLES, 0, 3);
    }
  }

  drawPoints(height, box, depthRange, views, shown) {
    const gl = this.gl, below = height - box.top - box.height;
    gl.viewport(box.left, below, box.width, box.height);
    gl.scissor(box.left, below, box.width, box.height);
    this.clouds.forEach((cloud, i) => {
      if (!shown.clouds[i]) return;
      const m = views[i].matrix;
      const x = 2 / box.width, y = 2 / box.height, z = -1 / depthRange;
      gl.uniformMatrix4fv(this.points.uniforms.projection, false, [
        x * m[0], y * m[4], z * m[8], 0, x * m[1], y * m[5], z * m[9], 0,
        x * m[2], y * m[6], z * m[10], 0, x * m[3], y * m[7], z * m[11], 1,
      ]);
      gl.bindTexture(gl.TEXTURE_2D, cloud.colours);
      gl.bindVertexArray(cloud.array);
      for (const [size, first, last] of pointRanges(cloud, views[i], shown.outliers)) {
        gl.uniform1f(this.points.uniforms.size, size);
        gl.uniform1f(this.points.uniforms.dome, size / (4 * depthRange));
        gl.drawArrays(gl.POINTS, first, last - first);
      }
    });
  }
}

/** Renders point by point into a plain canvas. */
class CanvasRenderer {
  constructor(canvas, clouds) {
    this.context = canvas.getContext("2d");
    this.kind = "canvas";
    this.clouds = clouds.map((cloud) => ({ ...cloud }));
  }

  move(number, positions) {
    Object.assign(this.clouds[number], { positions, points: positions.length / 3, inliers: positions.length / 3 });
  }

  colour(colouring) {
    this.colouring = colouring;
  }

  render(width, height, panels, shown, background) {
    if (!this.image || this.image.width !== width || this.image.height !== height) {
      this.image = this.context.createImageData(width, height);
      this.pixels = new Uint32Array(this.image.data.buffer);
      this.depth = new Float32Array(width * height);
    }
    this.pixels.fill(((255 << 24) | (background[2] << 16) | (background[1] << 8) | background[0]) >>> 0);
    this.depth.fill(-Infinity);
    for (const { box, views } of panels) {
      this.clouds.forEach((cloud, i) => {
        if (!shown.clouds[i]) return;
        const { matrix } = views[i];
        for (const range of pointRanges(cloud, views[i], shown.outliers)) {
          this.drawPoints(cloud, this.colouring[i], matrix, box, ...range);
        }
      });
    }
    this.context.putImageData(this.image, 0, 0);
  }

  drawPoints(cloud, colouring, m, box, size, first, last) {
    const { positions } = cloud, { pixels, depth } = this, width = this.image.width;
    const colours = new Uint32Array(colouring.colours.buffer);
    const square = Math.max(1, Math.round(size)), half = square / 2;
    const origin = [box.left + box.width / 2 - half, box.top + box.height / 2 - half];
    const right = box.left + box.width, bottom = box.top + box.height;
    for (let i = first; i < last; i++) {
      const a = positions[3 * i], b = positions[3 * i + 1], c = positions[3 * i + 2];
      const left = Math.round(origin[0] + m[0] * a + m[1] * b + m[2] * c + m[3]);
      const top = Math.round(origin[1] - (m[4] * a + m[5] * b + m[6] * c + m[7]));
      const near = m[8] * a + m[9] * b + m[10] * c + m[11];
      const colour = colours[colouring.levels[i]];
      for (let y = Math.max(top, box.top); y < Math.min(top + square, bottom); y++) {
        for (let x = Math.max(left, box.left); x < Math.min(left + square, right); x++) {
          const at = y * width + x;
          if (near > depth[at]) {
            depth[at] = near;
            pixels[at] = colour;
          }
        }
      }
    }
  }
}

/** WebGL 2 where it is available, else the plain canvas. A canvas that has a context of one kind gives no other. */
function rendererFor(canvas, clouds) {
  try {
    return new GlRenderer(canvas, clouds);
  } catch {
    return new CanvasRenderer(canvas, clouds);
  }
}

/* ---- the viewer ---- */

/** Displays both clouds in two panels, in the initial pose and in another one, with one camera for both panels.

    view  rotation matrix of the default view
    ends  the first and the last pose of the source */
class Viewer {
  constructor(canvas, clouds, view, ends) {
    this.canvas = canvas;
    this.clouds = clouds;
    this.view = view;
    this.ends = ends;
    this.shown = { clouds: [true, true], outliers: true };
    this.pointScale = 1;
    this.poses = ends;
    this.background = [255, 255, 255];
    this.renderer = rendererFor(canvas, clouds);
    canvas.dataset.renderer = this.renderer.kind;
    this.home();
    new ResizeObserver(() => (this.moved ? this.redraw() : this.home())).observe(canvas);
    canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
    canvas.addEventListener("webglcontextrestored", () => {
      this.renderer = new GlRenderer(canvas, clouds);
      this.renderer.colour(this.colouring);
      this.redraw();
    });
    this.listen();
  }

  /** Reset to the default view, in which the first and the last pose fill their panels. */
  home() {
    const [box] = this.boxes(this.canvas.clientWidth, this.canvas.clientHeight), half = halfExtent(box) || 1;
    this.camera = fitCamera(this.clouds, this.ends, this.view, [box.width / 2 / half || 1, box.height / 2 / half || 1]);
    this.moved = false;
    this.redraw();
  }

  /** Set the pose of the source in the second panel. */
  setPose(pose) {
    this.poses = [this.ends[0], pose];
    this.redraw();
  }

  colour(colouring, background) {
    this.colouring = colouring;
    this.background = background;
    this.renderer.colour(colouring);
    this.redraw();
  }

  rotate(right, up) {
    this.moved = true;
    const rotation = product(axisRotation(0, up), axisRotation(1, right));
    this.camera.rotation = product(rotation, this.camera.rotation);
    this.redraw();
  }

  /** Pan by shares of half a panel. */
  pan(right, up) {
    this.moved = true;
    this.camera.pan = [this.camera.pan[0] + right, this.camera.pan[1] + up];
    this.redraw();
  }

  /** Zoom by a factor about a position in a panel, in shares of half the panel. */
  zoom(factor, [x, y] = [0, 0]) {
    this.moved = true;
    const zoom = Math.min(Math.max(this.camera.zoom * factor, 0.1), 200), by = zoom / this.camera.zoom;
    const [right, up] = this.camera.pan;
    this.camera = { ...this.camera, zoom, pan: [x + (right - x) * by, y + (up - y) * by] };
    this.redraw();
  }

  redraw() {
    if (this.pending) return;
    this.pending = requestAnimationFrame(() => {
      this.pending = null;
      this.draw();
    });
  }

  /** The boxes of the panels: side by side, or one above the other in a narrow window. */
  boxes(width, height) {
    const wide = width > height * 1.1, half = Math.floor((wide ? width : height) / 2);
    return wide
      ? [{ left: 0, top: 0, width: half, height }, { left: half, top: 0, width: width - half, height }]
      : [{ left: 0, top: 0, width, height: half }, { left: 0, top: half, width, height: height - half }];
  }

  draw() {
    const { clientWidth, clientHeight } = this.canvas;
    if (!this.colouring || !clientWidth || !clientHeight) return;
    // On a coarse screen, finer than its pixels: antialiasing.
    const ratio = this.renderer.kind === "canvas" ? 1 : Math.min(Math.max(devicePixelRatio, 1.5), 2);
    const width = Math.round(clientWidth * ratio), height = Math.round(clientHeight * ratio);
    if (this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
    }
    const panels = this.boxes(width, height).map((box, i) => this.panelView(i, box, ratio));
    this.renderer.render(width, height, panels, this.shown, this.background, ratio);
  }

  panelView(number, box, ratio) {
    return panelView(box, this.clouds, [this.poses[number], IDENTITY], this.camera, ratio, this.pointScale);
  }

  /* Mouse, touch and keyboard */

  listen() {
    const { canvas } = this, pointers = new Map();
    canvas.addEventListener("contextmenu", (event) => event.preventDefault());
    canvas.addEventListener("dblclick", () => this.home());
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      pointers.set(event.pointerId, event);
    });
    for (const end of ["pointerup", "pointercancel"]) {
      canvas.addEventListener(end, (event) => pointers.delete(event.pointerId));
    }
    canvas.addEventListener("pointermove", (event) => {
      if (!pointers.has(event.pointerId)) return;
      const before = [...pointers.values()];
      pointers.set(event.pointerId, event);
      this.dragged(before, [...pointers.values()], event.shiftKey || (event.buttons & 6) !== 0);
    });
    canvas.addEventListener("wheel", (event) => {
      // Until the picture is clicked the wheel scrolls the page.
      if (document.activeElement !== canvas && !event.ctrlKey) return;
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), this.panelPosition(event));
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (this.pressed(event.key, event.shiftKey)) event.preventDefault();
    });
  }

  dragged(before, now, panning) {
    const mean = (points, axis) => points.reduce((sum, point) => sum + point[axis], 0) / points.length;
    const across = mean(now, "clientX") - mean(before, "clientX");
    const down = mean(now, "clientY") - mean(before, "clientY");
    const extent = halfExtent(this.boxes(this.canvas.clientWidth, this.canvas.clientHeight)[0]);
    if (now.length === 1 && !panning) {
      this.rotate((across / extent) * 1.2, (down / extent) * 1.2);
      return;
    }
    this.pan(across / extent, -down / extent);
    if (now.length === 2) {
      const [was, is] = [before, now].map(([a, b]) => Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY));
      if (was > 0 && is > 0) this.zoom(is / was);
    }
  }

  pressed(key, panning) {
    const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    if (key in arrows) {
      const [right, up] = arrows[key];
      if (panning) this.pan(0.1 * right, 0.1 * up);
      else this.rotate(0.1 * right, -0.1 * up);
    } else if (key === "+" || key === "=") this.zoom(1.2);
    else if (key === "-" || key === "_") this.zoom(1 / 1.2);
    else if (key === "0" || key === "Home") this.home();
    else return false;
    return true;
  }

  /** The position of an event in its panel, in shares of half the panel. */
  panelPosition(event) {
    const outer = this.canvas.getBoundingClientRect();
    const x = event.clientX - outer.left, y = event.clientY - outer.top;
    const boxes = this.boxes(outer.width, outer.height);
    const box = boxes.find(({ left, top, width, height }) => x < left + width && y < top + height) ?? boxes[1];
    const extent = halfExtent(box);
    return [(x - box.left - box.width / 2) / extent, (box.top + box.height / 2 - y) / extent];
  }
}

/** A viewer with one panel and fixed poses. */
class SinglePanelViewer extends Viewer {
  boxes(width, height) {
    return [{ left: 0, top: 0, width, height }];
  }

  panelPosition(event) {
    const { left, top, width, height } = this.canvas.getBoundingClientRect();
    const extent = halfExtent({ width, height });
    return [(event.clientX - left - width / 2) / extent, (top + height / 2 - event.clientY) / extent];
  }
}

/* ---- the page around it ---- */

const element = (id) => document.getElementById(id);

const bytes = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0));

/** A colour of the theme as red, green, blue from 0 to 255. */
function themed(name) {
  const hex = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

/** Draw the colour scale: the colours of 255 levels, and the text at both ends. */
function drawScale(ends, colours) {
  [element("legend-low").textContent, element("legend-high").textContent] = ends;
  const bar = element("legend-bar").getContext("2d"), image = bar.createImageData(255, 1);
  image.data.set(colours.subarray(0, 1020));
  bar.putImageData(image, 0, 0);
}

/** Connects the check boxes, the slider and the button of a page to its viewer; `show(value, checked)` handles a box. */
function connectControls(viewer, show = (value, checked) => (viewer.shown.clouds[Number(value)] = checked)) {
  for (const box of document.querySelectorAll("[name=show]")) {
    box.addEventListener("change", () => {
      show(box.value, box.checked);
      viewer.redraw();
    });
  }
  element("size").addEventListener("input", (event) => {
    viewer.pointScale = 2 ** event.target.value;
    viewer.redraw();
  });
  element("home").addEventListener("click", () => viewer.home());
}

/** Connects the slider and the button of a page that plays something, `what`, in some seconds; `show` displays it. */
function connectPlayback(slider, what, seconds, show) {
  const play = element("play");
  let playing = null;

  function stop() {
    cancelAnimationFrame(playing);
    playing = null;
    play.firstElementChild.textContent = "▶";
    play.setAttribute("aria-label", `Play the ${what}`);
  }

  function start() {
    const end = Number(slider.max);
    const begun = performance.now(), from = Number(slider.value) < end ? Number(slider.value) : 0;
    play.firstElementChild.textContent = "❚❚";
    play.setAttribute("aria-label", `Pause the ${what}`);
    const step = (now) => {
      slider.value = Math.min(end, from + ((now - begun) / 1000 / seconds) * end);
      show();
      if (Number(slider.value) < end) playing = requestAnimationFrame(step);
      else stop();
    };
    playing = requestAnimationFrame(step);
  }

  play.addEventListener("click", () => (playing === null ? start() : stop()));
  slider.addEventListener("input", () => {
    if (playing !== null) stop();
    show();
  });
}
