//! Contents of the guests' page: title, text and the community's picture. Edited contents are
//! stored in the folder of the vouchers, and override the configuration.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use answers::{NewText, PortalPage, PortalPicture, Preview};
use api::Problem;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::body::Bytes;
use portal_core::page::{PageView, html};
use portal_core::{picture, text};
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;
use tracing::{info, warn};

use super::background::run_blocking;
use super::config::{LONGEST_TITLE, is_title};
use super::store;

/// Previews that are kept at once: as many as people who edit.
const PREVIEWS: usize = 8;

/// Title and text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PageText {
    /// Title of the page.
    pub title: String,
    /// Text of the page, in Markdown.
    pub text: String,
}

/// Contents that the page's process shows until the version changes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PageSnapshot {
    /// Version of the contents: each change increases it.
    pub version: u64,
    /// Title of the page.
    pub title: String,
    /// Text of the page, as HTML.
    pub html: String,
    /// Address of a page about the venue.
    pub venue: Option<String>,
    /// Media type of the picture, if there is one.
    pub picture: Option<String>,
}

/// A picture, as uploaded.
struct Framed {
    octets: Bytes,
    known: picture::Picture,
}

/// Contents of the page, and their files.
pub struct PageContent {
    configured: PageText,
    venue: Option<String>,
    edited: RefCell<Option<PageText>>,
    picture: RefCell<Option<Framed>>,
    version: Cell<u64>,
    previews: RefCell<VecDeque<(u64, Preview)>>,
    text_file: PathBuf,
    picture_file: PathBuf,
    /// Lock that orders writes.
    writes: Mutex<()>,
}

impl PageContent {
    /// Opens the configured page, with earlier edits, which are stored in the folder of this file.
    pub fn open(beside: &Path, configured: PageText, venue: Option<String>) -> Rc<Self> {
        let (text_file, picture_file) = (
            beside.with_extension("text"),
            beside.with_extension("picture"),
        );
        let edited = kept(&text_file, |octets| {
            let words: PageText = serde_json::from_slice(octets).map_err(|e| e.to_string())?;
            fits(&words).map_err(|problem| problem.detail)?;
            Ok(words)
        });
        let picture = kept(&picture_file, |octets| {
            let known = picture::inspect(octets).map_err(|unfit| unfit.to_string())?;
            let octets = Bytes::copy_from_slice(octets);
            Ok(Framed { octets, known })
        });
        Rc::new(Self {
            configured,
            venue,
            edited: RefCell::new(edited),
            picture: RefCell::new(picture),
            version: Cell::new(1),
            previews: RefCell::default(),
            text_file,
            picture_file,
            writes: Mutex::default(),
        })
    }

    fn words(&self) -> PageText {
        let edited = self.edited.borrow();
        edited.as_ref().unwrap_or(&self.configured).clone()
    }

    /// Returns the title of the page.
    pub fn title(&self) -> String {
        self.words().title
    }

    /// Returns the version of the contents.
    pub fn version(&self) -> u64 {
        self.version.get()
    }

    /// Returns the content for the page's process.
    pub fn snapshot(&self) -> PageSnapshot {
        let PageText { title, text } = self.words();
        let picture = self.picture.borrow();
        let picture = picture.as_ref().map(|framed| framed.known.kind.media());
        PageSnapshot {
            version: self.version.get(),
            title,
            // The text was checked when it was accepted.
            html: text::shown(&text).unwrap_or_default(),
            venue: self.venue.clone(),
            picture: picture.map(str::to_owned),
        }
    }

    /// Returns the picture, with its media type.
    pub fn picture(&self) -> Option<(&'static str, Bytes)> {
        let picture = self.picture.borrow();
        let framed = picture.as_ref()?;
        Some((framed.known.kind.media(), framed.octets.clone()))
    }

    /// Returns the page in the form of the API.
    pub fn page(&self) -> PortalPage {
        let PageText { title, text } = self.words();
        let picture = self.picture.borrow();
        let shown = |framed: &Framed| PortalPicture {
            media: framed.known.kind.media().to_owned(),
            width: framed.known.width,
            height: framed.known.height,
            bytes: framed.octets.len(),
            version: self.version.get(),
        };
        PortalPage {
            title,
            text,
            edited: self.edited.borrow().is_some(),
            picture: picture.as_ref().map(shown),
        }
    }

    /// Marks a change: clients that show the page read it again.
    fn changed(&self, what: &str) -> PortalPage {
        info!(what, "the guests' page was edited");
        self.version.set(self.version.get() + 1);
        self.page()
    }

    /// Sets title and text.
    pub async fn edit(self: Rc<Self>, new: NewText) -> Result<PortalPage, Problem> {
        let _one = self.writes.lock().await;
        let words = PageText {
            title: new.title.unwrap_or_else(|| self.title()),
            text: new.text,
        };
        fits(&words)?;
        let (file, octets) = (
            self.text_file.clone(),
            serde_json::to_vec(&words).unwrap_or_default(),
        );
        write(move || store::replace(&file, &octets).map(drop)).await?;
        self.edited.replace(Some(words));
        Ok(self.changed("text"))
    }

    /// Resets title and text to the configuration.
    pub async fn reset(self: Rc<Self>) -> Result<PortalPage, Problem> {
        let _one = self.writes.lock().await;
        let file = self.text_file.clone();
        write(move || store::remove(&file)).await?;
        self.edited.replace(None);
        Ok(self.changed("text"))
    }

    /// Sets the picture, given in base64.
    pub async fn set_picture(self: Rc<Self>, picture: String) -> Result<PortalPage, Problem> {
        let hint = "use a PNG, JPEG or WebP of at most 100 KiB and 4096 by 4096 pixels";
        let unfit = |why: String| {
            let detail = format!("cannot use this picture: {why}");
            Problem::new(400, "wrong_picture", detail, hint)
        };
        let octets = STANDARD.decode(&picture);
        let octets = octets.map_err(|_| unfit("not base64".to_owned()))?;
        let known = picture::inspect(&octets).map_err(|error| unfit(error.to_string()))?;
        let octets = Bytes::from(octets);
        let _one = self.writes.lock().await;
        let (file, same) = (self.picture_file.clone(), octets.clone());
        write(move || store::replace(&file, &same).map(drop)).await?;
        self.picture.replace(Some(Framed { octets, known }));
        Ok(self.changed("picture"))
    }

    /// Removes the picture.
    pub async fn remove_picture(self: Rc<Self>) -> Result<PortalPage, Problem> {
        let _one = self.writes.lock().await;
        let file = self.picture_file.clone();
        write(move || store::remove(&file)).await?;
        self.picture.replace(None);
        Ok(self.changed("picture"))
    }

    /// Stores a preview for a while. Returns its number.
    pub fn keep_preview(&self, preview: Preview) -> Result<u64, Problem> {
        fits(&PageText {
            title: preview.title.clone(),
            text: preview.text.clone(),
        })?;
        let mut previews = self.previews.borrow_mut();
        let number = previews.back().map_or(1, |(number, _)| number + 1);
        if previews.len() >= PREVIEWS {
            previews.pop_front();
        }
        previews.push_back((number, preview));
        Ok(number)
    }

    /// Returns the page as shown to a new guest.
    pub fn preview(&self, number: u64) -> Option<String> {
        let previews = self.previews.borrow();
        let (_, preview) = previews.iter().find(|(one, _)| *one == number)?;
        // The preview is shown where no other file can be loaded.
        let picture = self
            .picture()
            .map(|(media, octets)| format!("data:{media};base64,{}", STANDARD.encode(octets)));
        Some(html(&PageView {
            network: &preview.title,
            text: &text::shown(&preview.text).unwrap_or_default(),
            picture: picture.as_deref(),
            venue: self.venue.as_deref(),
            languages: &preview.languages,
            ..PageView::default()
        }))
    }
}

/// Checks that the page has room for these words.
fn fits(words: &PageText) -> Result<(), Problem> {
    if !is_title(&words.title) {
        let what = format!("invalid title: use one line of at most {LONGEST_TITLE} bytes");
        return Err(Problem::new(
            400,
            "wrong_title",
            what,
            "use a shorter title",
        ));
    }
    let sign = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
    if words.text.chars().any(sign) {
        let what = "cannot use this text: it contains control characters";
        return Err(Problem::new(
            400,
            "wrong_text",
            what,
            "write plain text in UTF-8",
        ));
    }
    text::shown(&words.text).map(drop).map_err(|error| {
        let detail = format!("cannot use this text: {error}");
        Problem::new(400, "wrong_text", detail, "write a shorter text")
    })
}

/// Reads a file, if it exists. A damaged file is skipped.
fn kept<T>(file: &Path, read: impl FnOnce(&[u8]) -> Result<T, String>) -> Option<T> {
    let octets = match std::fs::read(file) {
        Ok(octets) => Ok(octets),
        Err(error) if error.kind() == ErrorKind::NotFound => return None,
        Err(error) => Err(error.to_string()),
    };
    octets
        .and_then(|octets| read(&octets))
        .map_err(|error| {
            let file = file.display();
            warn!(%file, error, "cannot read the edited parts of the guests' page");
        })
        .ok()
}

/// Disks take their time.
async fn write(work: impl FnOnce() -> io::Result<()> + Send + 'static) -> Result<(), Problem> {
    run_blocking(work).await?.map_err(|error| {
        let detail = format!("cannot store the page: {error}");
        Problem::new(500, "not_written", detail, "free space on the disk")
    })
}

#[cfg(test)]
mod tests {
    use testing::Directory;

    use super::*;

    struct Folder(Directory);

    impl Folder {
        fn welcome(&self) -> Rc<PageContent> {
            let configured = PageText {
                title: "configured".into(),
                text: "from a file".into(),
            };
            PageContent::open(&self.0.join("vouchers"), configured, None)
        }
    }

    fn block_on<T>(work: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.expect("a runtime").block_on(work)
    }

    fn new(title: Option<&str>, text: &str) -> NewText {
        NewText {
            title: title.map(str::to_owned),
            text: text.to_owned(),
        }
    }

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x02\0\0\0\x03";

    /// An edited text overrides the configuration, also after a restart, until it is removed.
    #[test]
    fn what_is_edited_stays_until_it_is_taken_back() {
        let folder = Folder(Directory::new());
        let welcome = folder.welcome();
        let before = welcome.version();
        let page = block_on(Rc::clone(&welcome).edit(new(Some("Us"), "# New"))).expect("taken");
        assert!(page.edited && page.title == "Us" && welcome.version() > before);
        assert!(welcome.snapshot().html.contains("<h2>New</h2>"));
        let page = block_on(welcome.edit(new(None, "newer"))).expect("taken");
        assert_eq!((page.title.as_str(), page.text.as_str()), ("Us", "newer"));
        let again = folder.welcome();
        assert_eq!(again.page(), page);
        let page = block_on(again.reset()).expect("taken back");
        assert!(!page.edited && page.title == "configured");
        assert_eq!(folder.welcome().page(), page);
    }

    #[test]
    fn a_picture_is_kept_as_it_came() {
        let folder = Folder(Directory::new());
        let welcome = folder.welcome();
        let framed =
            block_on(Rc::clone(&welcome).set_picture(STANDARD.encode(PNG))).expect("taken");
        let known = framed.picture.expect("a picture");
        assert_eq!((known.width, known.height, known.bytes), (2, 3, PNG.len()));
        let again = folder.welcome();
        assert_eq!(again.picture(), Some(("image/png", PNG.into())));
        for wrong in ["<svg/>", "GIF89a"] {
            let refused = block_on(Rc::clone(&again).set_picture(STANDARD.encode(wrong)));
            assert_eq!(refused.expect_err("refused").error, "wrong_picture");
        }
        assert!(again.picture().is_some());
        block_on(again.remove_picture()).expect("taken away");
        assert!(folder.welcome().picture().is_none());
    }

    #[test]
    fn what_does_not_fit_is_told() {
        let folder = Folder(Directory::new());
        let welcome = folder.welcome();
        for (new, error) in [
            (new(None, &"x".repeat(text::LONGEST + 1)), "wrong_text"),
            (new(None, "a\u{0}b"), "wrong_text"),
            (new(Some(&"x".repeat(LONGEST_TITLE + 1)), ""), "wrong_title"),
            (new(Some("two\nlines"), ""), "wrong_title"),
        ] {
            let refused = block_on(Rc::clone(&welcome).edit(new));
            assert_eq!(refused.expect_err("refused").error, error);
        }
        assert!(!welcome.page().edited);
    }

    /// A partial file, or a file of another format, is skipped.
    #[test]
    fn what_is_damaged_is_passed_over() {
        let folder = Folder(Directory::new());
        std::fs::write(folder.0.join("vouchers.text"), "{\"title\":\"x").expect("written");
        std::fs::write(folder.0.join("vouchers.picture"), "<svg/>").expect("written");
        let page = folder.welcome().page();
        assert!(!page.edited && page.title == "configured" && page.picture.is_none());
    }

    #[test]
    fn a_preview_is_what_guests_would_see() {
        let folder = Folder(Directory::new());
        let welcome = folder.welcome();
        block_on(Rc::clone(&welcome).set_picture(STANDARD.encode(PNG))).expect("taken");
        let shown = |number: u64| {
            let preview = Preview {
                title: format!("<{number}>"),
                text: "<script>alert(1)</script>".into(),
                languages: "de".into(),
            };
            welcome.keep_preview(preview).expect("kept")
        };
        let first = shown(0);
        let page = welcome.preview(first).expect("kept");
        assert!(page.contains("&lt;0&gt;") && page.contains("Verbinden"));
        assert!(page.contains("src=\"data:image/png;base64,") && !page.contains("<script"));
        let later: Vec<_> = (0..PREVIEWS).map(|number| shown(number as u64)).collect();
        assert!(welcome.preview(first).is_none());
        assert!(
            later
                .iter()
                .all(|number| welcome.preview(*number).is_some())
        );
        assert!(!welcome.page().edited);
    }
}
