// Greetings and their number.
import { useResource } from "@/api/poller";
import { plain } from "@/core/plain";
import { USUAL } from "@/core/poll";
import { Card, Facts, Title } from "@/parts/basic";
import { Waiting } from "@/parts/failure";
import { format } from "@/text";
import { plural, t } from "./text";
import type { Greeting } from "./types";

export function GreetingView() {
  const { data, failure, retry } = useResource<Greeting>("greeting", {}, USUAL);
  return (
    <>
      <Title text={t("view.greeting")} />
      {data === null ? (
        <Waiting failure={failure} retry={retry} />
      ) : (
        <div class="grid">
          <Card title={t("module.sample")}>
            <p class="greeting">{t("greeting.hello", { whom: plain(data.whom) })}</p>
            <p>{plural("greeting.greeted", data.greeted)}</p>
            <Facts facts={[[t("common.total"), format().count(data.devices)]]} />
          </Card>
        </div>
      )}
    </>
  );
}
