import { defineConfig } from "vite";
import vramscope from "vramscope/vite";

export default defineConfig({ plugins: [vramscope()] });
