// An editor for manifests, loaded only where one is needed. Its styles are in a shadow root, where no policy of the page forbids them.
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { bracketMatching, indentOnInput } from "@codemirror/language";
import { type Extension, StateEffect, StateField } from "@codemirror/state";
import { Decoration, type DecorationSet, drawSelection, EditorView, highlightActiveLine, hoverTooltip, keymap, lineNumbers } from "@codemirror/view";

/** Something to say of a place; lines and columns count from 1. */
export interface Remark {
  line: number;
  column: number;
  width: number;
  severity: string;
  text: string;
}

export interface Editor {
  setText(text: string): void;
  setRemarks(remarks: Remark[]): void;
  /** Move the cursor to a place. */
  show(line: number, column: number): void;
  destroy(): void;
}

const tell = StateEffect.define<Remark[]>();

interface Told {
  marks: DecorationSet;
  at: { from: number; to: number; text: string }[];
}

const remarks = StateField.define<Told>({
  create: () => ({ marks: Decoration.none, at: [] }),
  update(told, transaction) {
    for (const effect of transaction.effects) {
      if (!effect.is(tell)) continue;
      const { doc } = transaction.state;
      const at = effect.value
        .filter(({ line }) => line >= 1 && line <= doc.lines)
        .map(({ line, column, width, severity, text }) => {
          const { from: start, to: end } = doc.line(line);
          const from = Math.min(start + Math.max(0, column - 1), Math.max(start, end - 1));
          return { from, to: Math.min(Math.max(from + Math.max(1, width), from + 1), Math.max(end, from)), severity, text };
        });
      const marks = at
        .filter(({ from, to }) => to > from)
        .map(({ from, to, severity }) => Decoration.mark({ class: severity === "error" ? "said-error" : "said-warning" }).range(from, to));
      return { marks: Decoration.set(marks, true), at };
    }
    return { marks: told.marks.map(transaction.changes), at: transaction.docChanged ? [] : told.at };
  },
  provide: (field) => EditorView.decorations.from(field, (told) => told.marks),
});

const tooltips = hoverTooltip((view, position) => {
  const found = view.state.field(remarks).at.filter(({ from, to }) => from <= position && position <= to);
  if (found.length === 0) return null;
  return {
    pos: position,
    create: () => {
      const dom = document.createElement("div");
      for (const { text } of found) dom.append(Object.assign(document.createElement("p"), { textContent: text }));
      return { dom };
    },
  };
});

const theme = EditorView.theme({
  "&": { color: "var(--ink)", backgroundColor: "var(--ground)", fontSize: "12.5px", maxHeight: "60vh" },
  ".cm-scroller": { fontFamily: "var(--mono)", overflow: "auto" },
  ".cm-content": { caretColor: "var(--ink)", minHeight: "180px" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-gutters": { color: "var(--quiet)", backgroundColor: "var(--panel)", borderRight: "1px solid var(--line)" },
  ".cm-activeLine": { backgroundColor: "transparent" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": { background: "var(--accent-ground) !important" },
  ".cm-tooltip": { color: "var(--ink)", backgroundColor: "var(--panel)", border: "1px solid var(--line)", maxWidth: "60ch", padding: "4px 8px" },
  ".cm-tooltip p": { margin: "0" },
  ".said-error": { textDecoration: "underline wavy var(--error)", textUnderlineOffset: "3px" },
  ".said-warning": { textDecoration: "underline wavy var(--warning)", textUnderlineOffset: "3px" },
});

export function mount(parent: ShadowRoot, text: string, label: string, changed: (text: string) => void): Editor {
  const extensions: Extension[] = [
    lineNumbers(), history(), drawSelection(), highlightActiveLine(), indentOnInput(), bracketMatching(), yaml(), EditorView.lineWrapping,
    // Tab leaves the editor, as everybody expects who uses the keyboard.
    keymap.of([...defaultKeymap, ...historyKeymap]),
    EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false" }),
    EditorView.updateListener.of((update) => update.docChanged && changed(update.state.doc.toString())),
    remarks, tooltips, theme,
  ];
  const view = new EditorView({ doc: text, extensions, parent, root: parent });
  return {
    setText(text) {
      if (view.state.doc.toString() !== text) view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
    },
    setRemarks: (all) => view.dispatch({ effects: tell.of(all) }),
    show(line, column) {
      const { from, to } = view.state.doc.line(Math.min(Math.max(1, line), view.state.doc.lines));
      view.dispatch({ selection: { anchor: Math.min(from + Math.max(0, column - 1), to) }, scrollIntoView: true });
      view.focus();
    },
    destroy: () => view.destroy(),
  };
}
