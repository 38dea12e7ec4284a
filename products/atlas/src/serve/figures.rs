//! Cache of figures, shared by their forms: a page, its pictures for wide and narrow windows, and
//! its files.

use std::sync::{Arc, Mutex};

use rusqlite::Connection;

use super::cache::Cache;
use crate::chart::Chart;
use crate::chart_query::{ChartQuery, PictureStyle};
use crate::error::Error;
use crate::figure::Figure;

/// Figures of the store's state.
#[derive(Debug)]
pub(crate) struct Figures(Mutex<Cache<Figure>>);

impl Figures {
    /// Creates a cache of at most `most` bytes.
    pub fn new(most: usize) -> Self {
        Self(Mutex::new(Cache::new(most)))
    }

    /// Returns a chart's figure: from memory, otherwise computed. `version`: the store's.
    pub fn of(
        &self,
        version: i64,
        chart: &dyn Chart,
        store: &Connection,
        asked: &ChartQuery,
    ) -> Result<Arc<Figure>, Error> {
        // Numbers and names do not depend on the appearance of the picture.
        let plain = ChartQuery {
            look: PictureStyle::default(),
            ..asked.clone()
        };
        let key = format!("{}?{}", chart.name(), plain.query());
        if let Some(figure) = self
            .0
            .lock()
            .ok()
            .and_then(|mut cache| cache.get(version, &key))
        {
            return Ok(figure);
        }
        let figure = Arc::new(chart.figure(store, asked)?);
        if let Ok(mut cache) = self.0.lock() {
            cache.put(version, &key, figure.octets(), Arc::clone(&figure));
        }
        Ok(figure)
    }

    /// Returns the bytes in the cache.
    pub fn held(&self) -> usize {
        self.0.lock().map_or(0, |cache| cache.held())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::figure::{Plot, Table};
    use crate::text::Language;
    use crate::time::Unit;

    /// Counts how often it is computed.
    #[derive(Default)]
    struct Counted(AtomicU32);

    impl Chart for Counted {
        fn name(&self) -> &'static str {
            "counted"
        }

        fn title(&self, _: Language) -> &'static str {
            ""
        }

        fn about(&self, _: Language) -> &'static str {
            ""
        }

        fn figure(&self, _: &Connection, _: &ChartQuery) -> Result<Figure, Error> {
            self.0.fetch_add(1, Ordering::Relaxed);
            Ok(Figure {
                title: String::new(),
                name: String::new(),
                notes: Vec::new(),
                odd: 0,
                from: 0,
                to: 0,
                by: Unit::Hour,
                plot: Plot::Bars(Vec::new()),
                table: Table::default(),
            })
        }
    }

    #[test]
    fn one_is_for_all_forms_of_it() {
        let (figures, chart) = (Figures::new(10_000), Counted::default());
        let store = Connection::open_in_memory().expect("a database");
        let ask = |version, query: &str| {
            let asked = ChartQuery::read(query).expect("a question");
            figures
                .of(version, &chart, &store, &asked)
                .expect("a figure");
            chart.0.load(Ordering::Relaxed)
        };
        assert_eq!(ask(1, "from=2019"), 1);
        assert_eq!(
            ask(1, "from=2019&width=340&height=400&theme=dark&notes=0"),
            1
        );
        assert_eq!(ask(1, "from=2019&lang=de"), 2, "its words are others");
        assert_eq!(ask(1, "from=2018"), 3);
        assert_eq!(ask(1, "from=2019&only=a"), 4);
        assert_eq!(ask(1, "from=2019"), 4);
        assert!(figures.held() > 0);
        assert_eq!(ask(2, "from=2019"), 5, "the store is another");
    }
}
