// The addresses of views: all after the "#", so that the server sees none of them.
import { signal } from "@preact/signals";

export type Route =
  | { view: "waiting" }
  | { view: "pod"; namespace: string; name: string }
  | { view: "devices" }
  | { view: "node"; name: string }
  | { view: "device"; driver: string; pool: string; name: string }
  | { view: "remedy"; namespace: string; name: string; number: string }
  | { view: "pools" }
  | { view: "pool"; driver: string; pool: string }
  | { view: "capacity" }
  | { view: "try"; packed: string }
  | { view: "findings" }
  | { view: "unknown" };

const address = (...parts: string[]) =>
  `#/${parts.map((part) => encodeURIComponent(part.toWellFormed())).join("/")}`;

export const to = {
  waiting: address("waiting"),
  devices: address("devices"),
  capacity: address("capacity"),
  pools: address("pools"),
  pool: (driver: string, pool: string) => address("pools", driver, pool),
  try: address("try"),
  tried: (packed: string) => address("try", packed),
  remedy: (namespace: string, name: string, number: number) => address("waiting", namespace, name, "try", String(number)),
  findings: address("findings"),
  pod: (namespace: string, name: string) => address("waiting", namespace, name),
  node: (name: string) => address("devices", "node", name),
  device: (driver: string, pool: string, name: string) => address("devices", "device", driver, pool, name),
};

export function parse(hash: string): Route {
  let parts: string[];
  try {
    parts = hash.replace(/^#?\/?/, "").split("/").map(decodeURIComponent);
  } catch {
    return { view: "unknown" };
  }
  const [first, second, third, fourth, fifth] = parts as [string, ...string[]];
  const is = (view: string, length: number) => first === view && parts.length === length;
  if (first === "" || is("waiting", 1)) return { view: "waiting" };
  if (is("waiting", 3)) return { view: "pod", namespace: second!, name: third! };
  if (is("waiting", 5) && fourth === "try") return { view: "remedy", namespace: second!, name: third!, number: fifth! };
  if (is("try", 1)) return { view: "try", packed: "" };
  if (is("try", 2)) return { view: "try", packed: second! };
  if (is("pools", 1)) return { view: "pools" };
  if (is("pools", 3)) return { view: "pool", driver: second!, pool: third! };
  if (is("capacity", 1)) return { view: "capacity" };
  if (is("findings", 1)) return { view: "findings" };
  if (is("devices", 1)) return { view: "devices" };
  if (is("devices", 3) && second === "node") return { view: "node", name: third! };
  if (is("devices", 5) && second === "device")
    return { view: "device", driver: third!, pool: fourth!, name: fifth! };
  return { view: "unknown" };
}

export const route = signal(parse(location.hash));

let followed = false;
addEventListener("click", (event) => {
  followed = event.target instanceof Element && event.target.closest('a[href^="#"]') !== null;
});

export function go(href: string) {
  followed = true;
  location.hash = href;
}

addEventListener("hashchange", () => {
  route.value = parse(location.hash);
  if (!followed) return; // going back, the browser restores the place
  followed = false;
  scrollTo(0, 0);
  document.querySelector<HTMLElement>("main")?.focus({ preventScroll: true });
});
