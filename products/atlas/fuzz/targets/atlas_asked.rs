//! Addresses of an atlas.
#![no_main]

use atlas::chart_query::{ChartQuery, Span};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|octets: &[u8]| {
    let Ok(query) = std::str::from_utf8(octets) else {
        return;
    };
    if let Some(span) = Span::read(query) {
        assert!(span.begin < span.end, "{query}");
        assert_eq!(Span::read(&span.word()), Some(span), "{query}");
    }
    match ChartQuery::read(query) {
        Ok(asked) => {
            let written = asked.query();
            assert!(written.is_ascii(), "{written}");
            let again = ChartQuery::read(&written).expect("what was written is read");
            assert_eq!(again, asked, "{written}");
            assert_eq!(again.query(), written);
        }
        Err(error) => assert!(error.to_string().len() < 1000, "{error}"),
    }
});
