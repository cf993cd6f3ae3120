"use strict";
const data = JSON.parse(document.getElementById("motion").textContent);
const canvas = document.querySelector("canvas");
const play = document.getElementById("play"), slider = document.getElementById("time"), now = document.getElementById("now");
const said = document.getElementById("said");

function numbers(text) {
  const bytes = Uint8Array.from(atob(text), c => c.charCodeAt(0));
  return new Float32Array(bytes.buffer);
}

const clock = numbers(data.clock), end = data.playback, last = clock.length - 1;
const poses = data.poses.map(numbers), moving = [];
const centre = new THREE.Vector3(...data.centre), size = data.size, up = new THREE.Vector3(...data.up);
const zAxis = new THREE.Vector3(0, 0, 1);

// -- what there is to see -------------------------------------------------------------------------------------

const scene = new THREE.Scene();
scene.background = new THREE.Color(data.colours.ground);
const sky = new THREE.HemisphereLight(0xffffff, 0xb4bcc4, 2.2), sun = new THREE.DirectionalLight(0xffffff, 1.4);
sky.position.copy(up);
scene.add(sky, sun);

const geometries = {};
for (const [name, mesh] of Object.entries(data.meshes)) {
  const geometry = geometries[name] = new THREE.BufferGeometry();
  geometry.setAttribute("position", new THREE.BufferAttribute(numbers(mesh.corners), 3));
  geometry.setAttribute("normal", new THREE.BufferAttribute(numbers(mesh.normals), 3));
  const shade = numbers(mesh.shade), colour = new Float32Array(3 * shade.length);
  colour.forEach((_, i) => { colour[i] = shade[Math.floor(i / 3)]; });
  geometry.setAttribute("color", new THREE.BufferAttribute(colour, 3));
}

function solid(mesh, colour, more = {}) {
  return new THREE.Mesh(geometries[mesh], new THREE.MeshLambertMaterial({ color: colour, vertexColors: true, ...more }));
}

const bodies = poses.map(() => new THREE.Group());
scene.add(...bodies);
for (const part of data.solids) {
  const flat = part.mesh === "plane";
  const look = flat ? { transparent: true, opacity: 0.35, depthWrite: false } : {};
  const mesh = solid(part.mesh, flat ? data.colours.plane : data.colours.bodies[part.colour], look);
  mesh.position.set(...part.at);
  const [w, x, y, z] = part.turn;
  mesh.quaternion.set(x, y, z, w);
  mesh.scale.set(...part.scale);
  if (part.mesh === "box") {
    const edges = new THREE.EdgesGeometry(geometries.box);
    mesh.add(new THREE.LineSegments(edges, new THREE.LineBasicMaterial({ color: data.colours.edge })));
  }
  if (flat && zAxis.clone().applyQuaternion(mesh.quaternion).dot(up) > 0.99) {
    const grid = new THREE.GridHelper(1, 20, data.colours.rule, data.colours.rule);
    grid.rotation.x = Math.PI / 2;
    mesh.add(grid);
  }
  bodies[part.body].add(mesh);
}
for (const body of data.paths) {
  const places = new Float32Array(3 * clock.length);
  clock.forEach((_, i) => places.set(poses[body].subarray(7 * i, 7 * i + 3), 3 * i));
  const geometry = new THREE.BufferGeometry().setAttribute("position", new THREE.BufferAttribute(places, 3));
  scene.add(new THREE.Line(geometry, new THREE.LineBasicMaterial({ color: data.colours.path })));
}

// A bar of unit length along z between two points, and an arrow along a force.
function bar(kind) {
  const mesh = solid("cylinder", data.colours[kind]);
  scene.add(mesh);
  return (from, to) => {
    const along = to.clone().sub(from), length = along.length();
    mesh.visible = length > 1e-9 * size;
    if (!mesh.visible) return;
    mesh.position.copy(from).addScaledVector(along, 0.5);
    mesh.quaternion.setFromUnitVectors(zAxis, along.divideScalar(length));
    mesh.scale.set(data.thin, data.thin, length);
  };
}
function arrow(colour) {
  const look = new THREE.MeshBasicMaterial({ color: colour });
  const shaft = new THREE.Mesh(geometries.cylinder, look), head = new THREE.Mesh(geometries.cone, look);
  scene.add(shaft, head);
  return (from, force) => {
    const along = force.clone().multiplyScalar(data.metres), length = along.length();
    shaft.visible = head.visible = length > 0.004 * size;
    if (!shaft.visible) return;
    const tip = Math.min(0.04 * size, length / 2);
    along.divideScalar(length);
    shaft.quaternion.setFromUnitVectors(zAxis, along);
    head.quaternion.copy(shaft.quaternion);
    shaft.position.copy(from).addScaledVector(along, (length - tip) / 2);
    shaft.scale.set(0.006 * size, 0.006 * size, length - tip);
    head.position.copy(from).addScaledVector(along, length - tip / 2);
    head.scale.set(0.35 * tip, 0.35 * tip, tip);
  };
}
{
  const corners = [], N = 20, rim = i => [Math.cos(2 * Math.PI * i / N), Math.sin(2 * Math.PI * i / N), -0.5];
  for (let i = 0; i < N; i++) corners.push(...rim(i), ...rim(i + 1), 0, 0, 0.5, ...rim(i + 1), ...rim(i), 0, 0, -0.5);
  geometries.cone = new THREE.BufferGeometry();
  geometries.cone.setAttribute("position", new THREE.BufferAttribute(new Float32Array(corners), 3));
}
for (const line of data.lines) moving.push([numbers(line.ends), bar(line.kind)]);
for (const force of data.arrows) moving.push([numbers(force.vectors), arrow(force.colour)]);

// -- where it is ----------------------------------------------------------------------------------------------

const mixed = (a, i, share) => a[i] + share * (a[i + 1] - a[i]);
const qa = new THREE.Quaternion(), qb = new THREE.Quaternion();
const at = (values, i) => new THREE.Vector3(values[i], values[i + 1], values[i + 2]);

function put(second) {
  let low = 0, high = last;
  while (low < high - 1) {
    const middle = (low + high) >> 1;
    if (clock[middle] <= second) low = middle; else high = middle;
  }
  const step = clock[high] - clock[low];
  const share = step > 0 ? Math.min(Math.max((second - clock[low]) / step, 0), 1) : 1;
  poses.forEach((p, body) => {
    const a = 7 * low, b = 7 * high;
    bodies[body].position.copy(at(p, a).lerp(at(p, b), share));
    qa.set(p[a + 4], p[a + 5], p[a + 6], p[a + 3]);
    qb.set(p[b + 4], p[b + 5], p[b + 6], p[b + 3]);
    bodies[body].quaternion.slerpQuaternions(qa, qb, share);
  });
  for (const [values, place] of moving) {
    const a = 6 * low, b = 6 * high;
    place(at(values, a).lerp(at(values, b), share), at(values, a + 3).lerp(at(values, b + 3), share));
  }
}

// -- camera ---------------------------------------------------------------------------------------------------

let renderer, camera, controls;
function home() {
  const side = Math.abs(up.z) > 0.9 ? new THREE.Vector3(0.5, -1, 0) : new THREE.Vector3(0.5, 0.2, 1);
  const from = side.addScaledVector(up, 0.55).normalize();
  const narrow = Math.min(1, camera.aspect);
  camera.position.copy(centre).addScaledVector(from, 1.65 * size / narrow);
  controls.target.copy(centre);
  controls.update();
}
function turned(angle, tilt, zoom) {
  const away = camera.position.clone().sub(controls.target);
  away.applyAxisAngle(up, angle);
  const across = up.clone().cross(away).normalize(), next = away.clone().applyAxisAngle(across, tilt);
  const height = next.clone().normalize().dot(up);
  camera.position.copy(controls.target).add((Math.abs(height) < 0.98 ? next : away).multiplyScalar(zoom));
  controls.update();
}
function resize() {
  const width = canvas.clientWidth, height = canvas.clientHeight;
  renderer.setPixelRatio(Math.min(devicePixelRatio, 2));
  renderer.setSize(width, height, false);
  camera.aspect = width / height;
  camera.updateProjectionMatrix();
}
try {
  renderer = new THREE.WebGLRenderer({ canvas, antialias: true, preserveDrawingBuffer: true });
} catch (error) {
  document.body.classList.add("flat");
}

// -- time -----------------------------------------------------------------------------------------------------

let running = !matchMedia("(prefers-reduced-motion: reduce)").matches, second = 0, before = 0;
function say() {
  const shown = Math.min(second, end), t = data.start + shown * data.speed;
  now.textContent = "t = " + (Math.abs(t) < 1e-12 ? 0 : t).toPrecision(4) + " s";
  slider.setAttribute("aria-valuetext", now.textContent);
  const caption = data.captions.filter(c => c.second <= shown + 1e-9 && shown < c.second + data.caption).pop();
  said.textContent = caption ? caption.text : "";
}
function show() { play.textContent = running ? "Pause" : "Play"; }
function frame(stamp) {
  if (running) {
    second = (second + (stamp - before) / 1000) % (end + data.hold);
    slider.value = 1000 * Math.min(second / end, 1);
    say();
  }
  before = stamp;
  put(Math.min(second, end));
  sun.position.copy(camera.position).addScaledVector(up, size);
  renderer.render(scene, camera);
  requestAnimationFrame(frame);
}
if (renderer) {
  camera = new THREE.PerspectiveCamera(40, 1, size / 200, 50 * size);
  camera.up.copy(up);
  controls = new THREE.OrbitControls(camera, canvas);
  resize();
  home();
  addEventListener("resize", resize);
  play.addEventListener("click", () => { running = !running; show(); });
  slider.addEventListener("input", () => { running = false; show(); second = slider.value / 1000 * end; say(); });
  document.getElementById("home").addEventListener("click", home);
  const keys = {
    ArrowLeft: [-0.1, 0, 1], ArrowRight: [0.1, 0, 1], ArrowUp: [0, -0.1, 1], ArrowDown: [0, 0.1, 1],
    "+": [0, 0, 0.9], "=": [0, 0, 0.9], "-": [0, 0, 1 / 0.9],
  };
  canvas.addEventListener("keydown", event => {
    if (event.key === " ") { play.click(); event.preventDefault(); }
    if (event.key === "Home") { home(); event.preventDefault(); }
    if (event.ctrlKey || event.metaKey || !keys[event.key]) return;
    turned(...keys[event.key]);
    event.preventDefault();
  });
  say(); show(); requestAnimationFrame(stamp => { before = stamp; frame(stamp); });
}
