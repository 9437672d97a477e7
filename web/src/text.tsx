// Every text from the cluster is a stranger's: it is shown as it is, apart from the text around it, and nothing in it is invisible.

const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029\u115f\u1160\u2800\u3164\uffa0]/gu;
const MOST_SHOWN = 1_000;

/** The text with characters that are invisible, or change the direction of others, as ‹U+202E›; long ones are cut. */
export function shown(text: string): string {
  const cut = text.length > MOST_SHOWN ? text.slice(0, MOST_SHOWN).toWellFormed() : text;
  const visible = cut.replace(INVISIBLE, (character) => {
    const code = character.codePointAt(0)!.toString(16).toUpperCase();
    return `‹U+${code.padStart(4, "0")}›`;
  });
  return cut === text ? visible : `${visible}… (${number(text.length - MOST_SHOWN)} more characters)`;
}

export function hasInvisible(text: string): boolean {
  return text.search(INVISIBLE) >= 0;
}

/** A stranger's text: `bdi` keeps its direction from the text around it. */
export function Said({ children }: { children: string }) {
  return <bdi>{shown(children)}</bdi>;
}

/** Several lines of code, such as an expression of CEL. */
export function Code({ children }: { children: string }) {
  const lines = children.slice(0, MOST_SHOWN).split("\n").map(shown).join("\n");
  return <code><bdi>{lines}{children.length > MOST_SHOWN && "…"}</bdi></code>;
}

const NUMBERS = new Intl.NumberFormat("en");

export function number(value: number): string {
  return NUMBERS.format(value);
}

/** "1 node", "5,000 nodes" */
export function counted(count: number, noun: string, nouns = `${noun}s`): string {
  return `${number(count)} ${count === 1 ? noun : nouns}`;
}

/** With a capital letter and a full stop, as text in a paragraph of its own. */
export function sentence(text: string): string {
  const capital = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.?!]$/.test(capital) ? capital : `${capital}.`;
}
