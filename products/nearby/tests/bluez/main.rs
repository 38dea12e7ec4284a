//! `weir-nearby` with BlueZ: adapters and the air between them are made up (`tests/lab`), and
//! so is who else is near.

mod absent;
mod bluetooth;
mod scene;
mod teller;
