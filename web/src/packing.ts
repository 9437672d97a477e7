// Texts in addresses: compressed, in letters that an address can have.

async function through(bytes: Uint8Array<ArrayBuffer>, stream: GenericTransformStream, most: number): Promise<Uint8Array<ArrayBuffer>> {
  const reader = new Blob([bytes]).stream().pipeThrough(stream as ReadableWritablePair<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>).getReader();
  const found: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  for (let { value, done } = await reader.read(); !done; { value, done } = await reader.read()) {
    found.push(value!);
    size += value!.length;
    if (size <= most) continue;
    await reader.cancel(); // what is small may become as large as it likes
    throw new RangeError("too long");
  }
  return new Uint8Array(await new Blob(found).arrayBuffer());
}

export async function pack(text: string): Promise<string> {
  const bytes = await through(new TextEncoder().encode(text), new CompressionStream("deflate-raw"), Infinity);
  const letters = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** The text; an address that has none, or a longer one, says so. */
export async function unpack(packed: string, most: number): Promise<string> {
  try {
    const letters = atob(packed.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = await through(Uint8Array.from(letters, (letter) => letter.charCodeAt(0)), new DecompressionStream("deflate-raw"), most);
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return "# this address has no text that can be read\n";
  }
}
