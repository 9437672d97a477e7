// How full a capacity is that claims share, with the amounts that a request can take as ticks.
import type { Fill } from "./api.ts";
import { names } from "./parts.tsx";
import { number, Said, shown } from "./text.tsx";

export function Fills({ of }: { of: Fill[] }) {
  if (of.length === 0) return null;
  return <section><h2>Shares of its capacity</h2>{of.map((each) => <FillOf of={each} />)}</section>;
}

function FillOf({ of: { capacity, total, used, step, ticks } }: { of: Fill }) {
  const of = (kind: string) => ticks.filter((each) => each.kind === kind).map(({ amount }) => amount);
  const [values, [least], [most], [usual]] = [of("value"), of("min"), of("max"), of("default")];
  return (
    <figure class="parts fill">
      <figcaption><b><Said>{capacity}</Said></b> <span class="quiet">{used !== null && `${number(Math.round(100 * used))}% in use of `}<Said>{total}</Said></span></figcaption>
      <div class="row" aria-hidden="true">
        <span class="level" style={{ width: `${100 * (used ?? 0)}%` }} />
        {ticks.map(({ kind, amount, place }) => <span class={`tick ${Object.hasOwn(KINDS, kind) ? kind : ""}`} style={{ left: `${100 * place}%` }} title={shown(`${kind} ${amount}`)} />)}
      </div>
      {ticks.length > 0 && (
        <p class="quiet small">
          A request takes{usual !== undefined && <> <Said>{usual}</Said> if it does not say how much</>}
          {values.length > 0 && <>{usual !== undefined && ";"} {names(values, values.length, 12)}</>}
          {least !== undefined && <>{usual !== undefined && ";"} from <Said>{least}</Said> to <Said>{most ?? total}</Said>{step !== null && <> in steps of <Said>{step}</Said></>}</>}.
        </p>
      )}
    </figure>
  );
}

const KINDS = { default: 0, min: 0, max: 0, step: 0, value: 0 };
