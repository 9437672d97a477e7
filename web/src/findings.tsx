// All that is wrong, or may be, by severity.
import type { Doctor } from "./api.ts";
import { Answer, useAnswer, useTitle } from "./parts.tsx";
import { counted, Said } from "./text.tsx";
import { FindingCard, worstFirst } from "./waiting.tsx";

const GROUPS = [["error", "Errors"], ["warning", "Warnings"], ["note", "Notes"]] as const;

export function Findings() {
  const doctor = useAnswer<Doctor>("doctor");
  useTitle("Findings");
  return (
    <Answer of={doctor}>
      {({ findings, unfinished, unread }) => (
        <>
          <h1>{findings.length ? counted(findings.length, "finding") : "Nothing is wrong that can be seen here"}</h1>
          <Unseen title="Not looked at to the end" of={unfinished} />
          <Unseen title="Not read" of={unread} />
          {GROUPS.map(([severity, title]) => {
            const some = worstFirst(findings.filter((each) => each.severity === severity));
            return some.length > 0 && (
              <section>
                <h2>{title} <span class="quiet">{some.length}</span></h2>
                {some.map((each) => <FindingCard of={each} level="h3" />)}
              </section>
            );
          })}
        </>
      )}
    </Answer>
  );
}

/** What may have findings that nobody knows of. */
function Unseen({ title, of }: { title: string; of: unknown[] }) {
  if (of.length === 0) return null;
  return (
    <div class="box problem">
      <p>{title}:</p>
      <ul>{of.map((each) => <li><Said>{typeof each === "string" ? each : JSON.stringify(each)}</Said></li>)}</ul>
    </div>
  );
}
