"use strict";

/* The clouds: where they stand, how they are seen, and two painters, one for WebGL and one for a plain canvas.

   Lengths are in units of the larger cloud's radius. A pose is {rotation: quaternion x y z w, shift}: points are turned
   about the middle of the source, which goes to `shift`. Matrices are lists of rows, one after the other. */

// Depth is told apart within so many radii in front of and behind the middle.
const DEEP = 8;
// Darkening of what lies behind its surroundings, as in the still pictures.
const SHADOW = 0.07;

/* ---- motions ---- */

const AT_REST = { rotation: [0, 0, 0, 1], shift: [0, 0, 0] };

/** The pose a share of the way from one to another: turned evenly, about the middle of the source. */
function poseBetween(from, to, share) {
  const mix = (a, b, p, q) => a.map((value, i) => p * value + q * b[i]);
  let cosine = from.rotation.reduce((sum, value, i) => sum + value * to.rotation[i], 0);
  // A quaternion and its negative are the same turn: take the shorter way.
  const nearer = cosine < 0 ? to.rotation.map((value) => -value) : to.rotation;
  cosine = Math.min(1, Math.abs(cosine));
  const angle = Math.acos(cosine), sine = Math.sin(angle);
  const even = [1 - share, share];
  const weights = sine < 1e-6 ? even : even.map((part) => Math.sin(part * angle) / sine);
  const rotation = mix(from.rotation, nearer, ...weights);
  const length = Math.hypot(...rotation);
  return { rotation: rotation.map((value) => value / length), shift: mix(from.shift, to.shift, 1 - share, share) };
}

function rotationMatrix([x, y, z, w]) {
  return [
    1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w),
    2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w),
    2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y),
  ];
}

/** The turn by `angle` radians about axis 0, 1 or 2. */
function turnAbout(axis, angle) {
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

/* ---- what is seen ---- */

/** The ball around the target, in the middle, and the source, where a pose puts it. */
function ballAround(shift, sourceRadius, targetRadius) {
  const apart = Math.hypot(...shift);
  if (apart + sourceRadius <= targetRadius) return { middle: [0, 0, 0], radius: targetRadius };
  if (apart + targetRadius <= sourceRadius) return { middle: shift, radius: sourceRadius };
  const radius = (apart + sourceRadius + targetRadius) / 2;
  return { middle: shift.map((value) => (value * (radius - targetRadius)) / apart), radius };
}

/** Half of the shorter side of a panel. */
function halfOf({ width, height }) {
  return Math.min(width, height) / 2;
}

/** From whole numbers to pixels about the middle of a panel, y up, z towards the viewer: 3 rows of 4. */
function toPixels(cloud, pose, ball, camera, reach) {
  const scale = (reach * camera.zoom) / ball.radius;
  const turn = product(camera.turn, rotationMatrix(pose.rotation));
  const from = apply(camera.turn, pose.shift.map((value, i) => value - ball.middle[i]));
  const low = apply(turn, cloud.low);
  const rows = [];
  for (let row = 0; row < 3; row++) {
    for (let column = 0; column < 3; column++) rows.push(scale * turn[3 * row + column] * cloud.step[column]);
    rows.push(scale * (from[row] + low[row]) + (row < 2 ? reach * camera.pan[row] : 0));
  }
  return rows;
}

/** Everything a painter needs for one panel: its box in pixels of the canvas, and each cloud's matrix and dot. */
function panelView(box, clouds, poses, camera, ratio, dots) {
  const reach = halfOf(box);
  const ball = ballAround(poses[0].shift, clouds[0].radius, clouds[1].radius);
  const deep = DEEP * reach * camera.zoom;
  const perUnit = (reach * camera.zoom) / ball.radius;
  const views = clouds.map((cloud, i) => ({
    matrix: toPixels(cloud, poses[i], ball, camera, reach),
    // So large that the dots of a surface just close.
    dot: Math.min(Math.max(1.6 * cloud.spacing * perUnit, 1.4 * ratio), 14 * ratio) * dots,
    // What lies far off surfaces stays small, so that it does not hide them.
    speck: Math.min(Math.max(cloud.spacing * perUnit, 1.4 * ratio), 3 * ratio) * dots,
  }));
  return { box, deep, views };
}

/** Zoom and pan that fill panels of a shape with the clouds, in each of some poses of the source. */
function framing(clouds, poses, turn, shape) {
  const camera = { turn, zoom: 1, pan: [0, 0] }, ends = [[Infinity, -Infinity], [Infinity, -Infinity]];
  for (const pose of poses) {
    const ball = ballAround(pose.shift, clouds[0].radius, clouds[1].radius);
    clouds.forEach((cloud, i) => {
      const m = toPixels(cloud, i ? AT_REST : pose, ball, camera, 1), stride = Math.ceil(cloud.nearSurface / 4000);
      const seen = [[], []];
      for (let at = 0; at < cloud.nearSurface; at += stride) {
        const [a, b, c] = cloud.places.subarray(3 * at, 3 * at + 3);
        seen[0].push(m[0] * a + m[1] * b + m[2] * c + m[3]);
        seen[1].push(m[4] * a + m[5] * b + m[6] * c + m[7]);
      }
      seen.forEach((values, axis) => {
        values.sort((x, y) => x - y);
        // A hundredth at each end may stick out: far-off points would make the rest small.
        const spare = Math.floor(values.length / 100);
        ends[axis][0] = Math.min(ends[axis][0], values[spare]);
        ends[axis][1] = Math.max(ends[axis][1], values[values.length - 1 - spare]);
      });
    });
  }
  const zoom = Math.min(...ends.map(([low, high], axis) => (1.66 * shape[axis]) / Math.max(high - low, 1e-6)), 4);
  return { turn, zoom, pan: ends.map(([low, high]) => (-zoom * (low + high)) / 2) };
}

/* ---- painters ---- */

/** The runs of a cloud's points that are drawn, each with the size of its dots: [size, first, last]. */
function runs(cloud, { dot, speck }, outliers) {
  if (!outliers) return [[dot, 0, cloud.onSurface]];
  return [[dot, 0, cloud.nearSurface], [speck, cloud.nearSurface, cloud.points]];
}

const VERTEX = `#version 300 es
in vec3 place;
in float level;
uniform mat4 motion;
uniform float dot;
uniform sampler2D colours;
flat out vec3 colour;
void main() {
  gl_Position = motion * vec4(place, 1.0);
  gl_PointSize = dot;
  colour = texelFetch(colours, ivec2(int(level), 0), 0).rgb;
}`;

// Dots are domes: between two points of one surface the pixel goes to the closer one.
const DOT = `#version 300 es
precision highp float;
flat in vec3 colour;
uniform float dome;
out vec4 seen;
void main() {
  vec2 off = 2.0 * gl_PointCoord - 1.0;
  float square = dot(off, off);
  if (square > 1.0) discard;
  gl_FragDepth = gl_FragCoord.z + dome * (1.0 - sqrt(1.0 - square));
  seen = vec4(colour, 1.0);
}`;

const WHOLE = `#version 300 es
void main() {
  gl_Position = vec4(vec2(gl_VertexID % 2, gl_VertexID / 2) * 4.0 - 1.0, 0.0, 1.0);
}`;

const SHADE = `#version 300 es
precision highp float;
uniform sampler2D picture;
uniform highp sampler2D depths;
uniform vec3 paper;
uniform float pixels;
uniform float ratio;
out vec4 seen;
float depthAt(ivec2 at) {
  return texelFetch(depths, clamp(at, ivec2(0), textureSize(depths, 0) - 1), 0).r;
}
void main() {
  ivec2 at = ivec2(gl_FragCoord.xy);
  float here = depthAt(at);
  if (here >= 1.0) {
    seen = vec4(paper, 1.0);
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
  seen = vec4(texelFetch(picture, at, 0).rgb * exp(-${SHADOW} * hidden), 1.0);
}`;

/** Draws by WebGL 2. Throws where there is none. */
class GlPainter {
  constructor(canvas, clouds) {
    const gl = canvas.getContext("webgl2", { antialias: false, alpha: false });
    if (!gl) throw new Error("no WebGL 2");
    this.gl = gl;
    this.kind = "webgl2";
    this.dots = this.program(VERTEX, DOT);
    this.shade = this.program(WHOLE, SHADE);
    this.empty = gl.createVertexArray();
    this.clouds = clouds.map((cloud) => this.upload(cloud));
    this.frame = null;
  }

  program(vertex, fragment) {
    const gl = this.gl, program = gl.createProgram();
    for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.bindAttribLocation(program, 0, "place");
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
    const gl = this.gl, array = gl.createVertexArray(), buffer = gl.createBuffer();
    gl.bindVertexArray(array);
    gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ARRAY_BUFFER, cloud.places, gl.STATIC_DRAW);
    gl.enableVertexAttribArray(0);
    gl.vertexAttribPointer(0, 3, gl.UNSIGNED_SHORT, false, 0, 0);
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.enableVertexAttribArray(1);
    gl.vertexAttribPointer(1, 1, gl.UNSIGNED_BYTE, false, 0, 0);
    return { ...cloud, array, buffer, colours: this.texture() };
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

  /** One level from 0 to 255 a point, and what colour each level has, for every cloud. */
  colour(paints) {
    const gl = this.gl;
    this.clouds.forEach((cloud, i) => {
      gl.bindBuffer(gl.ARRAY_BUFFER, cloud.buffer);
      gl.bufferData(gl.ARRAY_BUFFER, paints[i].levels, gl.STATIC_DRAW);
      gl.bindTexture(gl.TEXTURE_2D, cloud.colours);
      gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, 256, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, paints[i].colours);
    });
  }

  fit(width, height) {
    if (this.frame && this.frame.width === width && this.frame.height === height) return;
    const gl = this.gl;
    if (this.frame) {
      gl.deleteTexture(this.frame.picture);
      gl.deleteTexture(this.frame.depths);
      gl.deleteFramebuffer(this.frame.buffer);
    }
    const buffer = gl.createFramebuffer(), picture = this.texture();
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA8, width, height, 0, gl.RGBA, gl.UNSIGNED_BYTE, null);
    const depths = this.texture();
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.DEPTH_COMPONENT24, width, height, 0, gl.DEPTH_COMPONENT, gl.UNSIGNED_INT, null);
    gl.bindFramebuffer(gl.FRAMEBUFFER, buffer);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, picture, 0);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.DEPTH_ATTACHMENT, gl.TEXTURE_2D, depths, 0);
    this.frame = { width, height, buffer, picture, depths };
  }

  paint(width, height, panels, shown, paper, ratio) {
    const gl = this.gl;
    this.fit(width, height);
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.frame.buffer);
    gl.disable(gl.SCISSOR_TEST);
    gl.viewport(0, 0, width, height);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.enable(gl.DEPTH_TEST);
    gl.enable(gl.SCISSOR_TEST);
    gl.useProgram(this.dots.program);
    gl.activeTexture(gl.TEXTURE0);
    gl.uniform1i(this.dots.uniforms.colours, 0);
    for (const { box, deep, views } of panels) this.drawDots(height, box, deep, views, shown);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    gl.disable(gl.DEPTH_TEST);
    gl.useProgram(this.shade.program);
    gl.bindVertexArray(this.empty);
    gl.bindTexture(gl.TEXTURE_2D, this.frame.picture);
    gl.activeTexture(gl.TEXTURE1);
    gl.bindTexture(gl.TEXTURE_2D, this.frame.depths);
    gl.uniform1i(this.shade.uniforms.picture, 0);
    gl.uniform1i(this.shade.uniforms.depths, 1);
    gl.uniform3fv(this.shade.uniforms.paper, paper.map((channel) => channel / 255));
    gl.uniform1f(this.shade.uniforms.ratio, ratio);
    for (const { box, deep } of panels) {
      gl.viewport(0, 0, width, height);
      gl.scissor(box.left, height - box.top - box.height, box.width, box.height);
      gl.uniform1f(this.shade.uniforms.pixels, 2 * deep);
      gl.drawArrays(gl.TRIANGLES, 0, 3);
    }
  }

  drawDots(height, box, deep, views, shown) {
    const gl = this.gl, below = height - box.top - box.height;
    gl.viewport(box.left, below, box.width, box.height);
    gl.scissor(box.left, below, box.width, box.height);
    this.clouds.forEach((cloud, i) => {
      if (!shown.clouds[i]) return;
      const m = views[i].matrix;
      const x = 2 / box.width, y = 2 / box.height, z = -1 / deep;
      gl.uniformMatrix4fv(this.dots.uniforms.motion, false, [
        x * m[0], y * m[4], z * m[8], 0, x * m[1], y * m[5], z * m[9], 0,
        x * m[2], y * m[6], z * m[10], 0, x * m[3], y * m[7], z * m[11], 1,
      ]);
      gl.bindTexture(gl.TEXTURE_2D, cloud.colours);
      gl.bindVertexArray(cloud.array);
      for (const [size, first, last] of runs(cloud, views[i], shown.outliers)) {
        gl.uniform1f(this.dots.uniforms.dot, size);
        gl.uniform1f(this.dots.uniforms.dome, size / (4 * deep));
        gl.drawArrays(gl.POINTS, first, last - first);
      }
    });
  }
}

/** Draws point by point into a plain canvas. */
class PlainPainter {
  constructor(canvas, clouds) {
    this.context = canvas.getContext("2d");
    this.kind = "canvas";
    this.clouds = clouds;
  }

  colour(paints) {
    this.paints = paints;
  }

  paint(width, height, panels, shown, paper) {
    if (!this.image || this.image.width !== width || this.image.height !== height) {
      this.image = this.context.createImageData(width, height);
      this.pixels = new Uint32Array(this.image.data.buffer);
      this.depth = new Float32Array(width * height);
    }
    this.pixels.fill(((255 << 24) | (paper[2] << 16) | (paper[1] << 8) | paper[0]) >>> 0);
    this.depth.fill(-Infinity);
    for (const { box, views } of panels) {
      this.clouds.forEach((cloud, i) => {
        if (!shown.clouds[i]) return;
        const { matrix } = views[i];
        for (const run of runs(cloud, views[i], shown.outliers)) {
          this.drawDots(cloud, this.paints[i], matrix, box, ...run);
        }
      });
    }
    this.context.putImageData(this.image, 0, 0);
  }

  drawDots(cloud, paint, m, box, dot, first, last) {
    const { places } = cloud, { pixels, depth } = this, width = this.image.width;
    const colours = new Uint32Array(paint.colours.buffer);
    const side = Math.max(1, Math.round(dot)), half = side / 2;
    const middle = [box.left + box.width / 2 - half, box.top + box.height / 2 - half];
    const right = box.left + box.width, bottom = box.top + box.height;
    for (let i = first; i < last; i++) {
      const a = places[3 * i], b = places[3 * i + 1], c = places[3 * i + 2];
      const left = Math.round(middle[0] + m[0] * a + m[1] * b + m[2] * c + m[3]);
      const top = Math.round(middle[1] - (m[4] * a + m[5] * b + m[6] * c + m[7]));
      const near = m[8] * a + m[9] * b + m[10] * c + m[11];
      const colour = colours[paint.levels[i]];
      for (let y = Math.max(top, box.top); y < Math.min(top + side, bottom); y++) {
        for (let x = Math.max(left, box.left); x < Math.min(left + side, right); x++) {
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

/** The better painter of those that work here. A canvas that has handed out one kind of context gives no other. */
function painterFor(canvas, clouds) {
  try {
    return new GlPainter(canvas, clouds);
  } catch {
    return new PlainPainter(canvas, clouds);
  }
}

/* ---- the viewer ---- */

/** Shows both clouds twice, as they came and in a pose, and turns, moves and zooms both panels together.

    view  matrix, from where to look at first
    ends  the first and the last pose of the source */
class Viewer {
  constructor(canvas, clouds, view, ends) {
    this.canvas = canvas;
    this.clouds = clouds;
    this.view = view;
    this.ends = ends;
    this.shown = { clouds: [true, true], outliers: true };
    this.dots = 1;
    this.poses = ends;
    this.paper = [255, 255, 255];
    this.painter = painterFor(canvas, clouds);
    canvas.dataset.painter = this.painter.kind;
    this.home();
    new ResizeObserver(() => (this.touched ? this.redraw() : this.home())).observe(canvas);
    canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
    canvas.addEventListener("webglcontextrestored", () => {
      this.painter = new GlPainter(canvas, clouds);
      this.painter.colour(this.paints);
      this.redraw();
    });
    this.listen();
  }

  /** From where most is seen, so close that both ends of the motion fill their panels. */
  home() {
    const [box] = this.boxes(this.canvas.clientWidth, this.canvas.clientHeight), half = halfOf(box) || 1;
    this.camera = framing(this.clouds, this.ends, this.view, [box.width / 2 / half || 1, box.height / 2 / half || 1]);
    this.touched = false;
    this.redraw();
  }

  /** Where the source is now, in the second panel. */
  place(pose) {
    this.poses = [this.ends[0], pose];
    this.redraw();
  }

  colour(paints, paper) {
    this.paints = paints;
    this.paper = paper;
    this.painter.colour(paints);
    this.redraw();
  }

  turn(right, up) {
    this.touched = true;
    this.camera.turn = product(product(turnAbout(0, up), turnAbout(1, right)), this.camera.turn);
    this.redraw();
  }

  /** By shares of half a panel. */
  move(right, up) {
    this.touched = true;
    this.camera.pan = [this.camera.pan[0] + right, this.camera.pan[1] + up];
    this.redraw();
  }

  /** Closer by a factor, about a place in a panel, in shares of half of it. */
  zoom(factor, [x, y] = [0, 0]) {
    this.touched = true;
    const zoom = Math.min(Math.max(this.camera.zoom * factor, 0.1), 200), by = zoom / this.camera.zoom;
    const [right, up] = this.camera.pan;
    this.camera = { ...this.camera, zoom, pan: [x + (right - x) * by, y + (up - y) * by] };
    this.redraw();
  }

  redraw() {
    if (this.asked) return;
    this.asked = requestAnimationFrame(() => {
      this.asked = null;
      this.draw();
    });
  }

  /** Panels stand side by side, or one above the other where there is more room so. */
  boxes(width, height) {
    const beside = width > height * 1.1, half = Math.floor((beside ? width : height) / 2);
    return beside
      ? [{ left: 0, top: 0, width: half, height }, { left: half, top: 0, width: width - half, height }]
      : [{ left: 0, top: 0, width, height: half }, { left: 0, top: half, width, height: height - half }];
  }

  draw() {
    const { clientWidth, clientHeight } = this.canvas;
    if (!this.paints || !clientWidth || !clientHeight) return;
    // Finer than the screen where it is coarse: edges are smoother so.
    const ratio = this.painter.kind === "canvas" ? 1 : Math.min(Math.max(devicePixelRatio, 1.5), 2);
    const width = Math.round(clientWidth * ratio), height = Math.round(clientHeight * ratio);
    if (this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
    }
    const panels = this.boxes(width, height).map((box, i) => this.panelView(i, box, ratio));
    this.painter.paint(width, height, panels, this.shown, this.paper, ratio);
  }

  panelView(number, box, ratio) {
    return panelView(box, this.clouds, [this.poses[number], AT_REST], this.camera, ratio, this.dots);
  }

  /* Mouse, fingers and keys */

  listen() {
    const { canvas } = this, fingers = new Map();
    canvas.addEventListener("contextmenu", (event) => event.preventDefault());
    canvas.addEventListener("dblclick", () => this.home());
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      fingers.set(event.pointerId, event);
    });
    for (const end of ["pointerup", "pointercancel"]) {
      canvas.addEventListener(end, (event) => fingers.delete(event.pointerId));
    }
    canvas.addEventListener("pointermove", (event) => {
      if (!fingers.has(event.pointerId)) return;
      const before = [...fingers.values()];
      fingers.set(event.pointerId, event);
      this.dragged(before, [...fingers.values()], event.shiftKey || (event.buttons & 6) !== 0);
    });
    canvas.addEventListener("wheel", (event) => {
      // Until the picture is clicked the wheel is the page's.
      if (document.activeElement !== canvas && !event.ctrlKey) return;
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), this.within(event));
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (this.pressed(event.key, event.shiftKey)) event.preventDefault();
    });
  }

  dragged(before, now, moving) {
    const middle = (points, axis) => points.reduce((sum, point) => sum + point[axis], 0) / points.length;
    const across = middle(now, "clientX") - middle(before, "clientX");
    const down = middle(now, "clientY") - middle(before, "clientY");
    const reach = halfOf(this.boxes(this.canvas.clientWidth, this.canvas.clientHeight)[0]);
    if (now.length === 1 && !moving) {
      this.turn((across / reach) * 1.2, (down / reach) * 1.2);
      return;
    }
    this.move(across / reach, -down / reach);
    if (now.length === 2) {
      const [was, is] = [before, now].map(([a, b]) => Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY));
      if (was > 0 && is > 0) this.zoom(is / was);
    }
  }

  pressed(key, moving) {
    const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    if (key in arrows) {
      const [right, up] = arrows[key];
      if (moving) this.move(0.1 * right, 0.1 * up);
      else this.turn(0.1 * right, -0.1 * up);
    } else if (key === "+" || key === "=") this.zoom(1.2);
    else if (key === "-" || key === "_") this.zoom(1 / 1.2);
    else if (key === "0" || key === "Home") this.home();
    else return false;
    return true;
  }

  /** Where in its panel an event is, in shares of half of it. */
  within(event) {
    const outer = this.canvas.getBoundingClientRect();
    const x = event.clientX - outer.left, y = event.clientY - outer.top;
    const boxes = this.boxes(outer.width, outer.height);
    const box = boxes.find(({ left, top, width, height }) => x < left + width && y < top + height) ?? boxes[1];
    const reach = halfOf(box);
    return [(x - box.left - box.width / 2) / reach, (box.top + box.height / 2 - y) / reach];
  }
}

/* ---- the page around it ---- */

const element = (id) => document.getElementById(id);

const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

/** A colour of the theme as red, green, blue from 0 to 255. */
function themed(name) {
  const hex = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

/** Ties the boxes, the slider and the button that every page has to its viewer; `show(value, checked)` is told of boxes. */
function tieControls(viewer, show = (value, checked) => (viewer.shown.clouds[Number(value)] = checked)) {
  for (const box of document.querySelectorAll("[name=show]")) {
    box.addEventListener("change", () => {
      show(box.value, box.checked);
      viewer.redraw();
    });
  }
  element("size").addEventListener("input", (event) => {
    viewer.dots = 2 ** event.target.value;
    viewer.redraw();
  });
  element("home").addEventListener("click", () => viewer.home());
}
