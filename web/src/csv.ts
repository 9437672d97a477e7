// Tables to take along into a spreadsheet, which takes some texts for formulas.

export type Cell = string | number;

function cell(value: Cell): string {
  const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export const csv = (rows: Cell[][]) => rows.map((row) => `${row.map(cell).join(",")}\r\n`).join("");

export function save(name: string, text: string) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
