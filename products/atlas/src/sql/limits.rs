//! Limits of a query.

use crate::error::Error;

/// Largest query, in bytes.
pub(super) const QUERY: usize = 16 << 10;
/// Largest number of columns.
pub(super) const COLUMNS: i32 = 200;
/// Largest text, and largest row during computation, in bytes.
pub(super) const TEXT: i32 = 1 << 20;

const MIB: u64 = 1 << 20;

/// Limits of a query. Beyond a limit the result is an error, or, for rows and bytes, an answer
/// marked as truncated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Wall-clock time, and processor time.
    pub seconds: u32,
    /// Rows of the answer.
    pub rows: usize,
    /// Rows × columns.
    pub cells: usize,
    /// Size of the answer as JSON.
    pub octets: usize,
    /// Bytes that the engine may use.
    pub memory: u64,
}

impl Limits {
    /// Limits for untrusted users: two such processes and the server fit into 256 MB.
    pub const STRANGERS: Self = Self {
        seconds: 5,
        rows: 10_000,
        cells: 200_000,
        octets: 4_000_000,
        memory: 64 * MIB,
    };

    /// Limits for the user of the machine.
    pub const OWNER: Self = Self {
        seconds: 120,
        rows: 1_000_000,
        cells: 10_000_000,
        octets: 100_000_000,
        memory: 1024 * MIB,
    };

    /// Returns the limits as this engine needs them.
    pub(super) fn of(self, engine: Engine) -> Self {
        let least = match engine {
            Engine::Sqlite => 0,
            // With less, DuckDB cannot return a few megabytes of texts.
            Engine::Duckdb => 120 * MIB,
        };
        Self {
            memory: self.memory.max(least),
            ..self
        }
    }

    /// Returns the address space of the whole process in bytes: also for program, stack and answer.
    pub(super) fn addresses(&self) -> u64 {
        self.memory + 2 * self.octets as u64 + 128 * MIB
    }

    pub(super) fn too_long(&self) -> Error {
        Error::Beyond(format!(
            "the query took longer than {} s: ask for a shorter span of time, or use sums, such as \
             community_months",
            self.seconds
        ))
    }

    pub(super) fn too_much_memory(&self) -> Error {
        Error::Beyond(format!(
            "the query needs more than {} MB of memory: sort, group or join less",
            self.memory / MIB
        ))
    }
}

/// Engine that answers a query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, clap::ValueEnum)]
pub enum Engine {
    /// In this program.
    #[default]
    Sqlite,
    /// The installed DuckDB.
    Duckdb,
}

impl Engine {
    /// Returns the word in addresses: `engine=duckdb`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Duckdb => "duckdb",
        }
    }

    /// Returns the engine with a name.
    pub fn of(word: &str) -> Option<Self> {
        [Self::Sqlite, Self::Duckdb]
            .into_iter()
            .find(|engine| engine.word() == word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duckdb_has_what_it_needs_and_owners_have_more() {
        let memory = |limits: Limits, engine| limits.of(engine).memory / MIB;
        assert_eq!(memory(Limits::STRANGERS, Engine::Sqlite), 64);
        assert_eq!(memory(Limits::STRANGERS, Engine::Duckdb), 120);
        assert_eq!(memory(Limits::OWNER, Engine::Duckdb), 1024);
    }
}
