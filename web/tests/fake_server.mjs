// A stand-in for `claimcheck ui`: serves the page, and the answers of one of the clusters of clusters.mjs.
//     node tests/fake_server.mjs busy     prints the address
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { clusters } from "./clusters.mjs";

export const STATIC = fileURLToPath(new URL("../../commandline/page/static", import.meta.url));
const TYPES = { "index.html": "text/html; charset=utf-8", "page.js": "text/javascript", "editor.js": "text/javascript", "page.css": "text/css" };
const HEADERS = {
  "Content-Security-Policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; " +
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
  "X-Content-Type-Options": "nosniff",
};

/** Starts a server of the cluster; `answers` may be exchanged while it runs, and `tell` says that the cluster has changed. */
export async function serve(answers, port = 0) {
  const fake = { answers, streams: new Set(), tell: () => fake.streams.forEach((each) => each.write('data: {"version": 2}\n\n')) };
  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url, "http://localhost");
    const send = (status, type, body, more = {}) => response.writeHead(status, { ...HEADERS, "Content-Type": type, ...more }).end(body);
    const file = pathname === "/" ? "index.html" : pathname.slice(1);
    if (file in TYPES) return send(200, TYPES[file], readFileSync(`${STATIC}/${file}`));
    if (pathname === "/api/v1/changes") {
      response.writeHead(200, { ...HEADERS, "Content-Type": "text/event-stream" }).flushHeaders();
      fake.streams.add(response);
      return request.on("close", () => fake.streams.delete(response));
    }
    const question = pathname.replace("/api/v1/", "");
    let body = "";
    for await (const chunk of request) body += chunk;
    const asked = body ? JSON.parse(body) : Object.fromEntries(searchParams);
    const answer = fake.answers[question]?.(asked, request.headers.authorization);
    if (answer === undefined) return send(404, "application/json", JSON.stringify({ error: `there is no ${question}` }));
    return send(Number.isInteger(answer.refused) ? answer.refused : 200, "application/json", JSON.stringify(answer), answer.headers);
  });
  await new Promise((ready) => server.listen(port, "127.0.0.1", ready));
  fake.address = `http://127.0.0.1:${server.address().port}/`;
  fake.close = () => {
    server.closeAllConnections();
    return new Promise((closed) => server.close(() => closed()));
  };
  return fake;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  console.log((await serve(clusters[process.argv[2] ?? "busy"], 8090)).address);
}
