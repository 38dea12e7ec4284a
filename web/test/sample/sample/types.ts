// The daemon's data about the sample.

declare module "@/api/types" {
  interface Status {
    sample?: { greeted: number };
  }
}

export interface Greeting {
  whom: string;
  greeted: number;
  devices: number;
}
