//! `weir portal text`, `picture`: content of the guests' page.

use std::path::{Path, PathBuf};

use answers::{NewPicture, NewText, PortalPage};
use api::Method;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clap::{Args, Subcommand};
use portal_core::{picture, text};

use runtime::Error;
use runtime::command::{Connection, Format, client};
use runtime::output::{Output, sanitize, units};

/// Edit the text of the guests' page
///
/// Takes effect at once, and overrides `title` and `text` of the configuration.
#[derive(Args, Debug)]
#[command(after_long_help = "Example:
  weir portal text set rules.md --title \"Café am Markt\"")]
pub struct TextArgs {
    #[command(subcommand)]
    what: Text,
}

#[derive(Debug, Subcommand)]
enum Text {
    /// Show the heading and the text
    Show(PageArgs),
    Set(SetArgs),
    /// Return to the text of the configuration
    Reset(PageArgs),
}

/// Arguments of commands about the guests' page.
#[derive(Args, Debug)]
struct PageArgs {
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    format: Format,
}

/// Set a new text
#[derive(Args, Debug)]
struct SetArgs {
    /// File with the text, in Markdown, at most 16 KiB
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Heading of the page [default: unchanged]
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    #[command(flatten)]
    page: PageArgs,
}

/// Set or remove the picture on the guests' page
#[derive(Args, Debug)]
pub struct PictureArgs {
    #[command(subcommand)]
    what: Picture,
}

#[derive(Debug, Subcommand)]
enum Picture {
    Set(FrameArgs),
    /// Remove the picture
    Remove(PageArgs),
}

/// Set a new picture
#[derive(Args, Debug)]
struct FrameArgs {
    /// PNG, JPEG or WebP file, at most 100 KiB
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    page: PageArgs,
}

pub fn text(args: &TextArgs, output: &mut Output<'_>) -> Result<(), Error> {
    match &args.what {
        Text::Show(args) => {
            let page = client(&args.connection)?.get("/v1/portal/page")?;
            show(&page, args.format, output)
        }
        Text::Set(args) => {
            let octets = read(&args.file, text::LONGEST)?;
            let text = String::from_utf8(octets).map_err(|error| {
                let what = format!("{} is not UTF-8", args.file.display());
                Error::with_cause(&what, &error, "save it as UTF-8")
            })?;
            let title = args.title.clone();
            let path = "/v1/portal/page/text";
            let new = NewText { title, text };
            let client = client(&args.page.connection)?;
            let page = client.send(Method::POST, path, &new)?;
            show(&page, args.page.format, output)
        }
        Text::Reset(args) => {
            let page = client(&args.connection)?.post("/v1/portal/page/text/reset")?;
            show(&page, args.format, output)
        }
    }
}

pub fn picture(args: &PictureArgs, output: &mut Output<'_>) -> Result<(), Error> {
    match &args.what {
        Picture::Set(args) => {
            let octets = read(&args.file, picture::LONGEST)?;
            let picture = STANDARD.encode(octets);
            let path = "/v1/portal/page/picture";
            let client = client(&args.page.connection)?;
            let page = client.send(Method::POST, path, &NewPicture { picture })?;
            show(&page, args.page.format, output)
        }
        Picture::Remove(args) => {
            let page = client(&args.connection)?.post("/v1/portal/page/picture/remove")?;
            show(&page, args.format, output)
        }
    }
}

/// Reads a file of at most `most` bytes.
fn read(file: &Path, most: usize) -> Result<Vec<u8>, Error> {
    let octets = std::fs::read(file).map_err(|error| {
        let what = format!("cannot read {}", file.display());
        Error::with_cause(&what, &error, "name a file that you have the right to read")
    })?;
    match octets.len() > most {
        false => Ok(octets),
        true => Err(Error::new(
            format!("{} has {} bytes", file.display(), octets.len()),
            format!("use a smaller file: at most {most}"),
        )),
    }
}

fn show(page: &PortalPage, format: Format, output: &mut Output<'_>) -> Result<(), Error> {
    if format.json {
        return Ok(output.json(page)?);
    }
    output.field("title", &sanitize(&page.title))?;
    let from = match page.edited {
        true => "edited; `weir portal text reset` restores the configuration's",
        false => "the configuration's",
    };
    output.field("text", from)?;
    let picture = page.picture.as_ref().map(|picture| {
        let (media, size) = (&picture.media, units::bytes(picture.bytes as u64));
        format!(
            "{media}, {} by {} pixels, {size}",
            picture.width, picture.height
        )
    });
    output.field("picture", &picture.unwrap_or_else(|| "none".to_owned()))?;
    for line in page.text.lines() {
        output.line(&format!("  {}", sanitize(line)))?;
    }
    Ok(())
}
