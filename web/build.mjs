// Bundles src into the folder that `claimcheck ui` serves, or into the folder that is named: the same bytes every time.
import { copyFileSync, mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = fileURLToPath(new URL(".", import.meta.url));
const target = process.argv[2] ?? `${here}/../commandline/page/static`;

mkdirSync(target, { recursive: true });
await build({
  absWorkingDir: here,
  entryPoints: ["src/page.tsx", "src/page.css"],
  bundle: true,
  minify: true,
  format: "esm",
  target: ["chrome111", "firefox119", "safari16.4"],
  jsx: "automatic",
  jsxImportSource: "preact",
  charset: "ascii",
  legalComments: "inline",
  splitting: true,
  chunkNames: "[name]",
  outdir: target,
  logLevel: "warning",
});
copyFileSync(`${here}/src/index.html`, `${target}/index.html`);
