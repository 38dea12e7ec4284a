// Layout of the picture port -> flow -> hop: pure. Ports are left and hops right, as blocks whose
// height is their rate; each flow is a ribbon between them, as wide as its rate.

/** A direction of a flow that weir forwards. */
export interface Stream {
  /** Id of the ribbon: flow and direction. */
  id: string;
  label: string;
  /** Name of the incoming port. */
  port: string;
  /** Key of the hop. */
  hop: string;
  /** Bits per second. */
  rate: number;
  /** Number of flows: 1, or more for a ribbon of several small ones. */
  flows: number;
}

export interface Block {
  key: string;
  y: number;
  height: number;
  rate: number;
}

export interface Ribbon {
  stream: Stream;
  /** Upper edges at both ends, and the width. */
  from: number;
  to: number;
  width: number;
}

export interface Picture {
  ports: Block[];
  hops: Block[];
  ribbons: Ribbon[];
  height: number;
}

/** Ribbons drawn one by one. All others form one ribbon for each pair of port and hop. */
export const RIBBONS = 24;
const GAP = 44;
const THINNEST = 3;

const { compare: byName } = new Intl.Collator("en", { numeric: true });

/**
 * The largest streams, and all others added up by pair of port and hop. `id` of such a sum is `rest
 * PORT HOP`.
 */
export function bundled(streams: readonly Stream[]): Stream[] {
  const bySize = [...streams].sort((a, b) => b.rate - a.rate || (a.id < b.id ? -1 : 1));
  const rest = new Map<string, Stream>();
  for (const stream of bySize.slice(RIBBONS)) {
    const id = `rest ${stream.port} ${stream.hop}`;
    const sum = rest.get(id);
    if (sum === undefined) rest.set(id, { ...stream, id, label: "" });
    else {
      sum.rate += stream.rate;
      sum.flows += stream.flows;
    }
  }
  return [...bySize.slice(0, RIBBONS), ...rest.values()];
}

function byKey(streams: readonly Stream[], key: (stream: Stream) => string): Map<string, Stream[]> {
  const groups = new Map<string, Stream[]>();
  for (const stream of streams) {
    const group = groups.get(key(stream));
    if (group === undefined) groups.set(key(stream), [stream]);
    else group.push(stream);
  }
  return groups;
}

/**
 * Lays out streams in `space` units of height, gaps between blocks not counted. Blocks are in
 * order of their names, so that they keep their places while rates change.
 */
export function layOut(given: readonly Stream[], space: number): Picture {
  const streams = bundled(given);
  const sum = streams.reduce((all, stream) => all + stream.rate, 0);
  const width = (stream: Stream) => THINNEST + (sum > 0 ? (stream.rate / sum) * space : 0);
  const place = (groups: Map<string, Stream[]>): Block[] => {
    let y = GAP;
    return [...groups.keys()].sort(byName).map((key) => {
      const members = groups.get(key) ?? [];
      const height = members.reduce((all, stream) => all + width(stream), 0);
      const rate = members.reduce((all, stream) => all + stream.rate, 0);
      const block = { key, y, height, rate };
      y += height + GAP;
      return block;
    });
  };
  const ports = place(byKey(streams, (stream) => stream.port));
  const hops = place(byKey(streams, (stream) => stream.hop));
  const order = (blocks: Block[]) => new Map(blocks.map((block, index) => [block.key, index]));
  const portOrder = order(ports);
  const hopOrder = order(hops);
  const leftOf = new Map(ports.map((block) => [block.key, block.y]));
  const rightOf = new Map(hops.map((block) => [block.key, block.y]));
  // At each end, ribbons are in the order of their other ends, so that few ribbons cross.
  const ends = new Map<string, { from: number; to: number }>();
  const rank = (first: Map<string, number>, a: string, b: string) =>
    (first.get(a) ?? 0) - (first.get(b) ?? 0);
  const bySize = (a: Stream, b: Stream) => b.rate - a.rate || (a.id < b.id ? -1 : 1);
  for (const stream of [...streams].sort((a, b) => rank(hopOrder, a.hop, b.hop) || bySize(a, b))) {
    const from = leftOf.get(stream.port) ?? 0;
    leftOf.set(stream.port, from + width(stream));
    ends.set(stream.id, { from, to: 0 });
  }
  for (const stream of [...streams].sort(
    (a, b) => rank(portOrder, a.port, b.port) || bySize(a, b),
  )) {
    const to = rightOf.get(stream.hop) ?? 0;
    rightOf.set(stream.hop, to + width(stream));
    const end = ends.get(stream.id);
    if (end !== undefined) end.to = to;
  }
  const lowest = (blocks: Block[]) =>
    blocks.reduce((y, block) => Math.max(y, block.y + block.height), 0);
  return {
    ports,
    hops,
    ribbons: streams.map((stream) => ({
      stream,
      width: width(stream),
      ...(ends.get(stream.id) ?? { from: 0, to: 0 }),
    })),
    height: Math.max(lowest(ports), lowest(hops)) + 8,
  };
}

/** The outline of a ribbon between two vertical lines, as an SVG path. */
export function outline(ribbon: Ribbon, left: number, right: number): string {
  const middle = (left + right) / 2;
  const { from, to, width } = ribbon;
  return (
    `M${left},${from}C${middle},${from} ${middle},${to} ${right},${to}` +
    `V${to + width}C${middle},${to + width} ${middle},${from + width} ${left},${from + width}Z`
  );
}
