// The map of the devices: a tile for equal nodes, a square for each of their devices. Few are elements, many a canvas.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Group, Square } from "./api.ts";
import { go, to } from "./routes.ts";
import { inWords, Mark, Painter } from "./status.tsx";
import { counted, number, Said, shown } from "./text.tsx";

export interface Tile extends Group {
  /** whether the name is that of a pool whose devices are not on one node */
  isElsewhere: boolean;
  /** the value that these devices of it have in common */
  part?: string;
}

const nameOf = ({ names, part }: Tile) => (part === undefined ? (names[0] ?? "") : `${names[0] ?? ""} ${part}`);

/** For each kind of devices its driver, and whether the selector chooses it. */
export interface Lit {
  drivers: string[];
  isLit: (device: Square) => boolean;
}

const MOST_ELEMENTS = 2_000;

export function DeviceMap({ tiles, lit }: { tiles: Tile[]; lit: Lit }) {
  const squares = tiles.reduce((sum, tile) => sum + tile.devices.length, 0);
  if (squares > MOST_ELEMENTS) return <Drawn tiles={tiles} squares={squares} lit={lit} />;
  return <ul class="map plain">{tiles.map((tile) => <li><TileBox tile={tile} lit={lit} /></li>)}</ul>;
}

function TileBox({ tile, lit }: { tile: Tile; lit: Lit }) {
  const first = tile.names[0] ?? "";
  const free = tile.devices.filter((each) => each.status === "free").length;
  const about = (
    <>
      <span class="name"><Said>{first}</Said></span>
      {tile.part !== undefined && <span class="of small"><Said>{tile.part}</Said></span>}
      {tile.count > 1 && <span class="many">{counted(tile.count, "node")}</span>}
      <span class="quiet small">{number(free)} of {number(tile.devices.length)} free</span>
      {tile.closed && <span class="quiet small closed">closed: <Said>{tile.closed}</Said></span>}
    </>
  );
  const mark = (device: Square) => (
    <span class={lit.isLit(device) ? "" : "dim"}><Mark {...device} title={shown(inWords(device))} /></span>
  );
  if (!tile.isElsewhere) {
    return <a class="tile" href={to.node(first)}>{about}<span class="squares">{tile.devices.map(mark)}</span></a>;
  }
  return (
    <div class="tile">
      {about}
      <span class="squares">
        {tile.devices.map((device) => (
          <a href={to.device(lit.drivers[device.kind] ?? "", first, device.name)} aria-label={shown(inWords(device))}>{mark(device)}</a>
        ))}
      </span>
    </div>
  );
}

const GAP = 2;
const BETWEEN = 6;
const LABEL = 14;
const FROM_SIZE = 12; // smaller squares have no room for a name above them

/** Where each tile is: rows of tiles of one width. All in pixels of CSS. */
class Plan {
  readonly columns: number;
  readonly inRow: number;
  readonly width: number;
  readonly label: number;
  readonly tops: number[] = [0];

  constructor(
    readonly tiles: Tile[],
    readonly size: number,
    space: number,
  ) {
    const most = tiles.reduce((most, tile) => Math.max(most, tile.devices.length), 1);
    this.inRow = Math.min(most, 16, Math.ceil(Math.sqrt(2 * most)));
    this.label = size >= FROM_SIZE || tiles.some((tile) => tile.count > 1) ? LABEL : 0;
    const inner = this.inRow * this.cell - GAP;
    this.width = Math.max(inner, this.label ? 64 : 0) + BETWEEN;
    this.columns = Math.max(1, Math.floor((space + BETWEEN) / this.width));
    for (let first = 0; first < tiles.length; first += this.columns) {
      const row = tiles.slice(first, first + this.columns);
      const lines = Math.max(...row.map((tile) => Math.ceil(tile.devices.length / this.inRow)), 1);
      this.tops.push(this.tops.at(-1)! + this.label + lines * this.cell - GAP + BETWEEN);
    }
  }

  get cell() {
    return this.size + (this.size < 8 ? 1 : GAP);
  }

  get rows() {
    return this.tops.length - 1;
  }

  get height() {
    return this.tops[this.rows]!;
  }

  /** The row at a height; the last one below all. */
  rowAt(y: number): number {
    let low = 0;
    let high = this.rows - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.tops[middle]! <= y) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  at(x: number, y: number): { tile: Tile; device: Square | undefined } | undefined {
    const row = this.rowAt(y);
    const column = Math.floor(x / this.width);
    const tile = column < this.columns ? this.tiles[row * this.columns + column] : undefined;
    if (tile === undefined || x < 0 || y >= this.height) return undefined;
    const line = Math.floor((y - this.tops[row]! - this.label) / this.cell);
    const place = Math.floor((x - column * this.width) / this.cell);
    return { tile, device: line < 0 || place >= this.inRow ? undefined : tile.devices[line * this.inRow + place] };
  }
}

const dark = matchMedia("(prefers-color-scheme: dark)");

/** Rows of tiles that are drawn together. The browser scrolls what is drawn; what comes near is drawn before it is seen. */
const BAND = 320;
const NEAR = 640;

function Drawn({ tiles, squares, lit }: { tiles: Tile[]; squares: number; lit: Lit }) {
  const [size, setSize] = useState(squares > 20_000 ? 6 : squares > 5_000 ? 9 : 12);
  const [space, setSpace] = useState(0);
  const [isDark, setDark] = useState(dark.matches);
  const [about, setAbout] = useState<{ text: string; x: number; y: number }>();
  const [[first, last], setNear] = useState([0, -1]);
  const box = useRef<HTMLDivElement>(null);
  const plan = useMemo(() => new Plan(tiles, size, space), [tiles, size, space]);
  const bands = useMemo(() => bandsOf(plan), [plan]);

  useEffect(() => {
    const recolour = () => setDark(dark.matches);
    const observer = new ResizeObserver(([entry]) => setSpace(Math.floor(entry!.contentRect.width)));
    observer.observe(box.current!);
    dark.addEventListener("change", recolour);
    return () => {
      observer.disconnect();
      dark.removeEventListener("change", recolour);
    };
  }, []);

  useEffect(() => {
    const look = () => {
      const top = -box.current!.getBoundingClientRect().top;
      const isNear = ({ from, until }: Band) =>
        plan.tops[until]! > top - NEAR && plan.tops[from]! < top + innerHeight + NEAR;
      const [first, last] = [bands.findIndex(isNear), bands.findLastIndex(isNear)];
      setNear((before) => (before[0] === first && before[1] === last ? before : [first, last]));
    };
    look();
    addEventListener("scroll", look, { passive: true });
    addEventListener("resize", look);
    return () => {
      removeEventListener("scroll", look);
      removeEventListener("resize", look);
    };
  }, [plan, bands]);

  const hit = (event: MouseEvent) => {
    const { left, top } = box.current!.getBoundingClientRect();
    const [x, y] = [event.clientX - left, event.clientY - top];
    return { x, y, ...plan.at(x, y) };
  };
  const point = (event: MouseEvent) => {
    const { x, y, tile, device } = hit(event);
    if (tile === undefined) return setAbout(undefined);
    const name = tile.count > 1 ? `${nameOf(tile)} and ${counted(tile.count - 1, "other")}` : nameOf(tile);
    setAbout({ text: device ? `${name} – ${inWords(device)}` : name, x, y });
  };
  const open = (event: MouseEvent) => {
    const { tile, device } = hit(event);
    if (tile === undefined) return;
    const name = tile.names[0] ?? "";
    if (!tile.isElsewhere) go(to.node(name));
    else if (device) go(to.device(lit.drivers[device.kind] ?? "", name, device.name));
  };
  const side = about && (about.x < space / 2 ? { left: `${about.x}px` } : { right: `${space - about.x}px` });
  return (
    <>
      <label class="size">Size <input type="range" min="4" max="24" value={size} onInput={(event) => setSize(+event.currentTarget.value)} /></label>
      <div
        class="drawn"
        ref={box}
        role="img"
        aria-label={`Map of ${counted(squares, "device")}; the table says the same`}
        style={{ height: `${plan.height}px` }}
        onMouseMove={point}
        onMouseLeave={() => setAbout(undefined)}
        onClick={open}
      >
        {space > 0 && bands.slice(Math.max(0, first), last + 1).map((band) => <Strip key={band.from} band={band} plan={plan} lit={lit} isDark={isDark} />)}
        {about && <p class="about" style={{ top: `${about.y + 16}px`, ...side }}><Said>{about.text}</Said></p>}
      </div>
    </>
  );
}

interface Band {
  from: number;
  until: number;
}

function bandsOf(plan: Plan): Band[] {
  const bands: Band[] = [];
  for (let row = 0; row < plan.rows; row += 1) {
    const last = bands.at(-1);
    if (last && plan.tops[row + 1]! - plan.tops[last.from]! <= BAND) last.until = row + 1;
    else bands.push({ from: row, until: row + 1 });
  }
  return bands;
}

function Strip({ band, plan, lit, isDark }: { band: Band; plan: Plan; lit: Lit; isDark: boolean }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => draw(canvas.current!, band, plan, lit), [band, plan, lit, isDark]);
  return <canvas ref={canvas} style={{ top: `${plan.tops[band.from]}px` }} />;
}

function draw(canvas: HTMLCanvasElement, { from, until }: Band, plan: Plan, lit: Lit) {
  const pixels = (length: number) => Math.round(length * devicePixelRatio);
  const top = plan.tops[from]!;
  const [width, height] = [plan.columns * plan.width, plan.tops[until]! - top];
  canvas.width = pixels(width);
  canvas.height = pixels(height);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d", { alpha: false })!;
  const image = context.createImageData(canvas.width, canvas.height);
  const painter = new Painter(Math.max(1, pixels(plan.size)), image);
  const tiles = plan.tiles.slice(from * plan.columns, until * plan.columns).map((tile, index) => ({
    tile,
    x: (index % plan.columns) * plan.width,
    y: plan.tops[from + Math.floor(index / plan.columns)]! - top,
  }));
  for (const { tile, x, y } of tiles)
    for (const [place, device] of tile.devices.entries()) {
      const [line, column] = [Math.floor(place / plan.inRow), place % plan.inRow];
      painter.draw(device, lit.isLit(device), pixels(x + column * plan.cell), pixels(y + plan.label + line * plan.cell));
    }
  context.putImageData(image, 0, 0);
  if (!plan.label) return;
  context.fillStyle = painter.colour("ink");
  context.font = `${pixels(11)}px system-ui, sans-serif`;
  context.textBaseline = "top";
  for (const { tile, x, y } of tiles) {
    const count = tile.count > 1 ? `${number(tile.count)} × ` : "";
    const label = fitting(context, count + shown(nameOf(tile)), pixels(plan.width - BETWEEN));
    context.fillText(label, pixels(x), pixels(y));
  }
}

/** As much of the text as there is room for: the end, which tells names apart. */
function fitting(context: CanvasRenderingContext2D, text: string, width: number): string {
  if (context.measureText(text).width <= width) return text;
  let some = text.slice(-30);
  while (some && context.measureText(`…${some}`).width > width) some = some.slice(1);
  return `…${some}`;
}
