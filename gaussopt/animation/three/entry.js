// What the pages of motions in space use of three.js; README.md says how the bundle is made of it.
export {
  BufferAttribute, BufferGeometry, Color, DirectionalLight, EdgesGeometry, GridHelper, Group,
  HemisphereLight, Line, LineBasicMaterial, LineSegments, Mesh, MeshBasicMaterial, MeshLambertMaterial,
  PerspectiveCamera, Quaternion, Scene, Vector3, WebGLRenderer,
} from "three";
export { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
