//! A query's rows as a Parquet file.

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, params_from_iter};

use crate::error::Error;

/// Rows in memory at once, and unit of work for readers.
const GROUP: usize = 250_000;
/// Texts that are remembered, as few of them are in most columns.
const REMEMBERED: usize = 10_000;

/// Query and columns of a file.
pub(super) struct Sheet {
    /// Query with a column for each of `columns`.
    pub sql: &'static str,
    pub columns: &'static [Column],
}

/// A column.
pub(super) struct Column {
    name: &'static str,
    kind: Kind,
    nullable: bool,
}

/// Type of a column, and its form in the query.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Milliseconds since 1970.
    Time,
    /// Days since 1970.
    Date,
    Whole,
    Real,
    Flag,
    Text,
    /// Given as a JSON array.
    Texts,
}

impl Column {
    pub const fn of(name: &'static str, kind: Kind) -> Self {
        Self {
            name,
            kind,
            nullable: false,
        }
    }

    pub const fn or_none(name: &'static str, kind: Kind) -> Self {
        Self {
            name,
            kind,
            nullable: true,
        }
    }

    /// Returns the column's declaration in the format's own language.
    fn declared(&self) -> String {
        let (physical, logical) = match self.kind {
            Kind::Time => ("int64", " (TIMESTAMP(MILLIS, true))"),
            Kind::Date => ("int32", " (DATE)"),
            Kind::Whole => ("int64", ""),
            Kind::Real => ("double", ""),
            Kind::Flag => ("boolean", ""),
            Kind::Text => ("binary", " (STRING)"),
            Kind::Texts => {
                let name = self.name;
                return format!(
                    "required group {name} (LIST) {{ repeated group list {{ \
                     required binary element (STRING); }} }}"
                );
            }
        };
        let repetition = if self.nullable {
            "optional"
        } else {
            "required"
        };
        format!("{repetition} {physical} {}{logical};", self.name)
    }
}

impl Sheet {
    /// Writes a file; how many rows.
    pub fn write(&self, store: &Connection, path: &Path, given: &[i64]) -> Result<u64, Error> {
        let file = File::create(path).map_err(Error::file(path))?;
        let written = self.fill(store, file, given);
        written.map_err(|error| match error {
            Trouble::Store(error) => Error::Store(error),
            Trouble::File(error) => Error::Other(format!("{}: {error}", path.display())),
        })
    }

    fn fill(&self, store: &Connection, file: File, given: &[i64]) -> Result<u64, Trouble> {
        let columns: String = self.columns.iter().map(Column::declared).collect();
        let schema = parse_message_type(&format!("message atlas {{ {columns} }}"))?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by("weir-atlas".into())
            .build();
        let mut file = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties))?;
        let mut query = store.prepare(self.sql)?;
        let mut rows = query.query(params_from_iter(given))?;
        let mut values: Vec<_> = self.columns.iter().map(Values::new).collect();
        let (mut waiting, mut all) = (0, 0);
        loop {
            let row = rows.next()?;
            if let Some(row) = row {
                for (at, values) in values.iter_mut().enumerate() {
                    values.push(row.get_ref(at)?)?;
                }
                waiting += 1;
            }
            if waiting == GROUP || (row.is_none() && waiting > 0) {
                let mut group = file.next_row_group()?;
                for values in &mut values {
                    if let Some(column) = group.next_column()? {
                        values.write(column)?;
                    }
                }
                group.close()?;
                all += waiting as u64;
                waiting = 0;
            }
            if row.is_none() {
                break;
            }
        }
        let file = file.into_inner()?;
        file.sync_all()
            .map_err(|error| ParquetError::External(Box::new(error)))?;
        Ok(all)
    }
}

/// Error of reading or writing a file.
enum Trouble {
    Store(rusqlite::Error),
    File(ParquetError),
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error)
    }
}

impl From<ParquetError> for Trouble {
    fn from(error: ParquetError) -> Self {
        Self::File(error)
    }
}

/// A column's values, until they are a group.
struct Values {
    kind: Kind,
    nullable: bool,
    /// 1 for a value, 0 for a missing one; only of optional columns.
    defined: Vec<i16>,
    /// 0 at the begin of a row; only of lists.
    repeated: Vec<i16>,
    whole: Vec<i64>,
    short: Vec<i32>,
    real: Vec<f64>,
    flags: Vec<bool>,
    texts: Vec<ByteArray>,
    remembered: HashMap<Vec<u8>, ByteArray>,
}

impl Values {
    fn new(column: &Column) -> Self {
        Self {
            kind: column.kind,
            nullable: column.nullable,
            defined: Vec::new(),
            repeated: Vec::new(),
            whole: Vec::new(),
            short: Vec::new(),
            real: Vec::new(),
            flags: Vec::new(),
            texts: Vec::new(),
            remembered: HashMap::new(),
        }
    }

    fn push(&mut self, value: ValueRef<'_>) -> rusqlite::Result<()> {
        if self.nullable {
            let defined = !matches!(value, ValueRef::Null);
            self.defined.push(i16::from(defined));
            if !defined {
                return Ok(());
            }
        }
        match self.kind {
            Kind::Time | Kind::Whole => self.whole.push(value.as_i64()?),
            Kind::Date => {
                let days = value.as_i64()?;
                self.short
                    .push(days.clamp(i32::MIN.into(), i32::MAX.into()) as i32);
            }
            Kind::Real => self.real.push(value.as_f64()?),
            Kind::Flag => self.flags.push(value.as_i64()? != 0),
            Kind::Text => {
                let text = self.text(value.as_bytes()?);
                self.texts.push(text);
            }
            Kind::Texts => self.push_list(value.as_bytes()?),
        }
        Ok(())
    }

    fn push_list(&mut self, json: &[u8]) {
        let texts: Vec<String> = serde_json::from_slice(json).unwrap_or_default();
        if texts.is_empty() {
            self.defined.push(0);
            self.repeated.push(0);
        }
        for (at, text) in texts.iter().enumerate() {
            self.defined.push(1);
            self.repeated.push(i16::from(at > 0));
            let text = self.text(text.as_bytes());
            self.texts.push(text);
        }
    }

    /// Returns the text, shared with all equal texts.
    fn text(&mut self, text: &[u8]) -> ByteArray {
        if let Some(known) = self.remembered.get(text) {
            return known.clone();
        }
        if self.remembered.len() >= REMEMBERED {
            self.remembered.clear();
        }
        let new = ByteArray::from(text.to_vec());
        self.remembered.insert(text.to_vec(), new.clone());
        new
    }

    /// Writes the rows, and clears the buffer.
    fn write(&mut self, mut column: SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        let list = self.kind == Kind::Texts;
        let defined = (self.nullable || list).then_some(self.defined.as_slice());
        let repeated = list.then_some(self.repeated.as_slice());
        macro_rules! put {
            ($type:ty, $values:expr) => {
                column
                    .typed::<$type>()
                    .write_batch(&$values, defined, repeated)?
            };
        }
        match self.kind {
            Kind::Time | Kind::Whole => put!(Int64Type, self.whole),
            Kind::Date => put!(Int32Type, self.short),
            Kind::Real => put!(DoubleType, self.real),
            Kind::Flag => put!(BoolType, self.flags),
            Kind::Text | Kind::Texts => put!(ByteArrayType, self.texts),
        };
        column.close()?;
        self.defined.clear();
        self.repeated.clear();
        self.whole.clear();
        self.short.clear();
        self.real.clear();
        self.flags.clear();
        self.texts.clear();
        Ok(())
    }
}
