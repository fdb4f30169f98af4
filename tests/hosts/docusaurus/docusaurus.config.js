export default {
  title: "Docs",
  url: "https://example.org",
  baseUrl: "/",
  scripts: [{ src: "/vramscope/viewer.js", type: "module" }],
  presets: [["@docusaurus/preset-classic", { docs: { routeBasePath: "/" }, blog: false }]],
};
