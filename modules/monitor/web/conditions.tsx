// Conditions that need attention, as the router reports them, in the language of the reader.
import { live } from "@/api/live";
import type { Condition } from "@/api/types";
import { plain } from "@/core/plain";
import { formatRoute } from "@/core/route";
import { useStore } from "@/core/store";
import { Card, Notice } from "@/parts/basic";
import { Told } from "@/parts/told";
import { format } from "@/text";
import { needsAttention, placeOf } from "./core/conditions";
import { knows, t, word } from "./text";

const KINDS = { critical: "bad", warning: "warn", hint: "info" } as const;

export function NeedsAttention() {
  const { conditions } = useStore(live);
  if (conditions === null) return null;
  const all = conditions.conditions;
  return (
    <Card title={t("dashboard.alerts")}>
      {!needsAttention(all) && <Notice kind="good">{t("dashboard.alerts.none")}</Notice>}
      <ul class="alerts">
        {all.map((condition) => (
          <li key={condition.id}>
            <Notice kind={KINDS[condition.severity] ?? "warn"}>
              <One condition={condition} />
            </Notice>
          </li>
        ))}
      </ul>
    </Card>
  );
}

function One({ condition }: { condition: Condition }) {
  const text = knows("condition", condition.key) ? (
    textOf(condition)
  ) : (
    <Told text={condition.text} />
  );
  const place = placeOf(condition);
  return (
    <>
      {place === null ? text : <a href={formatRoute(...place)}>{text}</a>}{" "}
      <span class="muted small">
        {t("condition.since", { since: format().moment(condition.since) })}
      </span>
      {condition.hint !== undefined && (
        <p>
          <Told text={condition.hint} />
        </p>
      )}
    </>
  );
}

/**
 * U+2068 and U+2069 isolate a name's direction of writing, as `bdi` does in markup.
 */
const isolated = (name: string) => `\u2068${plain(name)}\u2069`;

/** Formats a value by its name. */
function shown(name: string, value: string): string {
  const f = format();
  switch (name) {
    case "used":
    case "limit":
      return f.bytes(Number(value));
    case "rate":
      return f.rate(Number(value));
    case "delay":
      return f.milliseconds(Number(value));
    case "count":
      return f.count(Number(value));
    case "share":
      return f.share(Number(value));
    case "resets":
    case "until":
      return f.moment(Number(value));
    default:
      return isolated(value);
  }
}

function textOf({ key, parameters }: Condition): string {
  const values = Object.entries(parameters).map(([name, value]) => [name, shown(name, value)]);
  return word("condition", key, Object.fromEntries(values));
}
