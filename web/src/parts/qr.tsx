/** A QR code drawn by the router. Always black on white, as scanners need. */
export function QrCode({ label, qr }: { label: string; qr: { side: number; path: string } }) {
  const { side, path } = qr;
  return (
    <svg
      class="qr"
      role="img"
      aria-label={label}
      viewBox={`0 0 ${side} ${side}`}
      shape-rendering="crispEdges"
    >
      <path class="light" d={`M0 0h${side}v${side}H0z`} />
      <path class="dark" d={path} />
    </svg>
  );
}
