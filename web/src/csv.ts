// Tables to take along into a spreadsheet, which takes some texts for formulas.
import { shown } from "./text.tsx";

export type Cell = string | number;

function cell(value: Cell): string {
  const said = typeof value === "string" ? shown(value) : String(value);
  const text = typeof value === "string" && /^[=+\-@]/.test(said) ? `'${said}` : said;
  return /[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export const csv = (rows: Cell[][]) => rows.map((row) => `${row.map(cell).join(",")}\r\n`).join("");

export function save(name: string, text: string) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
