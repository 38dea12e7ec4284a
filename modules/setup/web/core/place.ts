// Degrees and their positions in the picture. Pure.

/** The picture's size: two units a degree. */
export const WIDTH = 720;
export const HEIGHT = 360;

export interface Place {
  north: number;
  east: number;
}

const clamp = (value: number, most: number) => Math.min(Math.max(value, -most), most);

/** East of 180 degrees is west. */
const around = (east: number) => ((((east + 180) % 360) + 360) % 360) - 180;

export const drawn = ({ north, east }: Place): { x: number; y: number } => ({
  x: (east + 180) * 2,
  y: (90 - north) * 2,
});

/** The place at a point of the picture, `x` and `y` from 0 to 1. */
export const pointed = (x: number, y: number): Place => ({
  north: clamp(90 - y * 180, 90),
  east: clamp(x * 360 - 180, 180),
});

/** New position after an arrow key; with shift by a tenth of a degree. `null`: another key. */
export function moved(from: Place, key: string, fine: boolean): Place | null {
  const by = fine ? 0.1 : 1;
  const ways: Record<string, [number, number]> = {
    ArrowUp: [by, 0],
    ArrowDown: [-by, 0],
    ArrowRight: [0, by],
    ArrowLeft: [0, -by],
  };
  const way = Object.hasOwn(ways, key) ? ways[key] : undefined;
  if (way === undefined) return null;
  return { north: clamp(from.north + way[0], 90), east: around(from.east + way[1]) };
}

/** Text of the coordinates. */
export const written = ({ north, east }: Place): [string, string] => [
  String(Number(north.toFixed(4))),
  String(Number(east.toFixed(4))),
];

/** Parses coordinates; `null` if they are not valid. */
export function read(place: readonly string[] | undefined): Place | null {
  if (place === undefined || place.some((degrees) => degrees.trim() === "")) return null;
  const [north, east] = place.map((degrees) => Number(degrees.trim().replace(",", ".")));
  if (north === undefined || east === undefined) return null;
  return Math.abs(north) <= 90 && Math.abs(east) <= 180 ? { north, east } : null;
}

/** Rough coasts: enough to recognise the continent. East and north, in degrees. */
const COASTS = [
  "-168,66 -156,71 -128,70 -95,72 -82,67 -94,60 -82,55 -79,52 -77,62 -65,60 -56,53 -66,50 -60,46 -70,43 -75,38 -81,31 -80,25 -84,30 -97,27 -97,20 -88,21 -87,16 -83,10 -78,8 -86,12 -95,16 -105,20 -113,31 -110,23 -117,32 -124,40 -124,48 -134,57 -150,60 -158,56 -165,61",
  "-78,8 -72,12 -60,9 -50,0 -35,-6 -39,-15 -48,-26 -58,-35 -65,-42 -68,-54 -74,-50 -71,-30 -70,-18 -81,-5 -78,2",
  "-17,15 -9,31 -5,36 10,37 20,31 32,31 43,11 51,12 40,-3 40,-16 33,-27 27,-34 18,-34 12,-17 9,4 -8,4",
  "-9,37 -9,43 -2,44 -5,48 4,52 8,54 11,57 5,59 12,66 25,71 41,67 60,69 73,72 105,77 140,73 170,69 180,67 162,60 157,51 143,59 135,54 140,48 128,42 127,35 121,38 122,30 110,20 106,10 103,2 98,12 91,22 80,14 77,8 72,20 60,25 52,28 57,24 52,17 44,13 35,28 36,37 27,37 23,37 19,42 13,45 18,40 15,38 9,44 3,42 -2,37",
  "-6,50 -3,54 -6,58 -2,57 1,52",
  "-45,60 -54,67 -58,76 -30,83 -20,76 -25,69",
  "114,-22 122,-17 131,-12 137,-16 142,-11 153,-27 150,-37 139,-36 129,-32 115,-34",
  "44,-25 50,-16 47,-25",
  "131,32 141,41 141,36",
  "174,-36 178,-38 168,-46 173,-41",
  "95,5 105,-6 115,-8 103,0",
  "109,1 117,6 116,-4",
  "131,-1 150,-10 140,-8",
];

/** Coasts as one path. */
export const LAND = COASTS.map((coast) => {
  const points = coast.split(" ").map((point) => {
    const [east = 0, north = 0] = point.split(",").map(Number);
    const { x, y } = drawn({ north, east });
    return `${x} ${y}`;
  });
  return `M${points.join("L")}z`;
}).join("");
