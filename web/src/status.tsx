// How the state of a device looks, in SVG and on a canvas alike: by shape as well as by colour.
import looks from "../../commandline/devices/looks.json";
import type { Square, Status } from "./api.ts";
import { number } from "./text.tsx";

interface Look {
  /** the colours: variables of page.css */
  tone: "free" | "taken" | "blocked" | "bad";
  /** what is drawn in a square of 16 by 16 */
  sign?: string;
  meaning: string;
}

export const LOOKS = looks.statuses as Record<Status, Look>;
const TAINT = looks.taint;

/** That of a status that a newer server has is like that of an invalid pool. */
const lookOf = (status: Status) => LOOKS[Object.hasOwn(LOOKS, status) ? status : "invalid pool"];

export const toneOf = (status: Status) => lookOf(status).tone;

export function inWords({ name, status, tainted, used }: Square): string {
  const share = used == null ? "" : `, ${number(Math.round(100 * used))}% in use`;
  return `${name}: ${status}${share}${tainted ? ", tainted" : ""}`;
}

type Drawn = Pick<Square, "status" | "tainted" | "used">;

export function Mark({ status, tainted, used, title }: Drawn & { title?: string }) {
  const look = lookOf(status);
  const level = used ?? 0.5;
  return (
    <svg class={`mark ${look.tone}`} viewBox="0 0 16 16" aria-hidden="true">
      {title && <title>{title}</title>}
      <rect class="ground" width="16" height="16" rx="2" />
      {status === "shared" && <rect class="level" y={16 * (1 - level)} width="16" height={16 * level} />}
      {look.sign && <path class="sign" d={look.sign} />}
      <rect class="edge" x="1" y="1" width="14" height="14" rx="1.5" />
      {tainted && <path class="taint" d={TAINT} />}
    </svg>
  );
}

/** Writes marks into an image, pixel by pixel: tens of thousands take no longer than a few large ones. */
export class Painter {
  readonly #style = getComputedStyle(document.documentElement);
  readonly #marks = new Map<string, Uint32Array>();
  readonly #target: Uint32Array;
  readonly #ground: string;

  /** @param size of a mark, in pixels of the image */
  constructor(
    readonly size: number,
    readonly image: ImageData,
  ) {
    this.#ground = this.colour("ground");
    this.#target = new Uint32Array(image.data.buffer);
    const context = new OffscreenCanvas(1, 1).getContext("2d")!;
    context.fillStyle = this.#ground;
    context.fillRect(0, 0, 1, 1);
    this.#target.fill(new Uint32Array(context.getImageData(0, 0, 1, 1).data.buffer)[0]!);
  }

  colour(name: string): string {
    return this.#style.getPropertyValue(`--${name}`).trim();
  }

  /** Draws a device with its upper left corner at a pixel of the image. */
  draw(device: Drawn, isLit: boolean, x: number, y: number) {
    const level = device.status === "shared" ? Math.round(8 * (device.used ?? 0.5)) : 0;
    const key = `${device.status} ${level} ${device.tainted === true} ${isLit}`;
    let mark = this.#marks.get(key);
    if (mark === undefined) this.#marks.set(key, (mark = this.#mark(device, level / 8, isLit)));
    const width = Math.min(this.size, this.image.width - x);
    const height = Math.min(this.size, this.image.height - y);
    for (let line = 0; line < height; line += 1) {
      const at = line * this.size;
      this.#target.set(mark.subarray(at, at + width), (y + line) * this.image.width + x);
    }
  }

  #mark({ status, tainted }: Drawn, level: number, isLit: boolean): Uint32Array {
    const context = new OffscreenCanvas(this.size, this.size).getContext("2d", { willReadFrequently: true })!;
    const look = lookOf(status);
    context.scale(this.size / 16, this.size / 16);
    const fill = (colour: string, y = 0) => {
      context.fillStyle = colour;
      context.fillRect(0, y, 16, 16 - y);
    };
    fill(this.#ground);
    if (!isLit) context.globalAlpha = 0.18;
    fill(this.colour(`${look.tone}-ground`));
    fill(this.colour("taken-ground"), 16 * (1 - level));
    context.strokeStyle = this.colour(`${look.tone}-line`);
    context.lineWidth = 2;
    if (look.sign) context.stroke(new Path2D(look.sign));
    context.strokeRect(1, 1, 14, 14);
    context.fillStyle = this.colour("taint");
    if (tainted) context.fill(new Path2D(TAINT));
    return new Uint32Array(context.getImageData(0, 0, this.size, this.size).data.buffer);
  }
}
