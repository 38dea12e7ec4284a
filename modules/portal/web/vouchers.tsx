// Every voucher, with links to details.
import { useResource } from "@/api/poller";
import { matches } from "@/core/order";
import { formatRoute, type Route } from "@/core/route";
import { Choice, Name, Search, Title } from "@/parts/basic";
import { Waiting } from "@/parts/failure";
import { type Column, Table } from "@/parts/table";
import { setQuery } from "@/shell/router";
import { format } from "@/text";
import { SheetLink } from "./sheet";
import { StateTag } from "./state";
import { t, word } from "./text";
import type { PortalVoucher, PortalVouchers } from "./types";
import { VoucherView } from "./voucher";

/** Interval of polls, ms: vouchers change by users' actions. */
const EVERY = 5000;

const STATES = ["available", "active", "expired", "revoked"];

export function VouchersView({ route }: { route: Route }) {
  const id = route.path[1];
  return id === undefined ? <Vouchers route={route} /> : <VoucherView key={id} id={id} />;
}

function columns(): Column<PortalVoucher>[] {
  const f = format();
  const time = (seconds: number | null) =>
    seconds === null ? t("guests.forever") : f.span(seconds);
  return [
    {
      id: "code",
      title: t("vouchers.code"),
      by: ({ code }) => code,
      cell: ({ id, code }) => (
        <a class="code" href={formatRoute(["vouchers", id])}>
          {code}
        </a>
      ),
    },
    {
      id: "state",
      title: t("vouchers.state"),
      by: ({ state }) => state,
      cell: (voucher) => <StateTag voucher={voucher} />,
    },
    {
      id: "name",
      title: t("common.name"),
      text: true,
      level: 2,
      by: ({ name }) => name,
      cell: ({ name }) => <Name text={name} />,
    },
    {
      id: "time",
      title: t("vouchers.time"),
      numeric: true,
      level: 3,
      by: ({ duration }) => duration ?? Number.MAX_SAFE_INTEGER,
      cell: ({ duration }) => time(duration),
    },
    {
      id: "left",
      title: t("guests.left"),
      numeric: true,
      by: (voucher) => voucher.seconds_remaining,
      cell: ({ state, seconds_remaining }) => (state === "active" ? time(seconds_remaining) : "–"),
    },
    {
      id: "bytes",
      title: t("guests.bytes"),
      numeric: true,
      level: 4,
      by: (voucher) => voucher.bytes_remaining ?? voucher.bytes,
      cell: ({ bytes, bytes_remaining }) =>
        bytes === null ? "–" : f.bytes(bytes_remaining ?? bytes),
    },
    {
      id: "devices",
      title: t("vouchers.devices"),
      numeric: true,
      level: 3,
      by: ({ users }) => users.length,
      cell: ({ users, devices }) => t("vouchers.of", { used: users.length, all: devices }),
    },
    {
      id: "sold",
      title: t("vouchers.sold"),
      numeric: true,
      level: 4,
      by: ({ created }) => created,
      cell: ({ created }) => f.moment(created),
    },
  ];
}

function Vouchers({ route }: { route: Route }) {
  const { data, failure, retry } = useResource<PortalVouchers>("portal/vouchers", {}, EVERY);
  const { find = "", which = "" } = route.query;
  if (data === null) {
    return (
      <>
        <Title text={t("view.vouchers")} />
        <Waiting failure={failure} retry={retry} />
      </>
    );
  }
  const all = data.vouchers;
  const fitting = all.filter(
    ({ state, code, name, id }) =>
      (which === "" || state === which) && matches(find, [code, name, id]),
  );
  return (
    <>
      <Title text={t("view.vouchers")}>
        <p>
          <SheetLink vouchers={fitting} />
        </p>
      </Title>
      <div class="controls">
        <Search
          id="find"
          label={t("vouchers.filter")}
          value={find}
          set={(text) => setQuery({ find: text })}
        />
        <Choice
          id="which"
          label={t("vouchers.which")}
          value={which}
          options={[
            ["", t("vouchers.all")],
            ...STATES.map((state) => [state, word("voucher.state", state)] as const),
          ]}
          choose={(state) => setQuery({ which: state })}
        />
      </div>
      <div class="card">
        <Table
          id=""
          caption={t("vouchers.caption")}
          columns={columns()}
          rows={fitting}
          rowKey={({ id }) => id}
          first="sold"
          none={t(all.length === 0 ? "vouchers.empty" : "vouchers.nothing")}
        />
      </div>
    </>
  );
}
