//! Takes screenshots of every view, light and dark, on the page's samples. `cargo xtask shots` runs it.
//!
//! With `--readme` it writes the README's pictures instead: three small views as WebP.
#![expect(clippy::print_stdout, reason = "a command line tool")]

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use clap::Parser;
use vramscope_browser_tests::timing::PAINTED;
use vramscope_browser_tests::{Chromium, Modifiers, Page, Server, page_folder};

/// The longest that the page may take to show a view.
const PATIENCE: Duration = Duration::from_secs(60);

/// A view: its name, its key if it has one, the sample that shows it well, and the steps before the screenshot.
type Shot = (
    &'static str,
    &'static str,
    &'static str,
    &'static [&'static str],
);

const SHOTS: [Shot; 11] = [
    ("overview", "1", "out-of-memory.pickle.gz", &[]),
    ("timeline", "2", "training.pickle.gz", &["pin"]),
    ("segments", "3", "fragmented.pickle.gz", &[]),
    ("map", "4", "fragmented.pickle.gz", &["pin"]),
    ("allocator", "5", "fragmented.pickle.gz", &["peak"]),
    ("flame", "6", "training.pickle.gz", &[]),
    ("table", "7", "training.pickle.gz", &[]),
    ("compare", "8", "out-of-memory.pickle.gz", &["peak"]),
    ("what-if", "9", "fragmented.pickle.gz", &["pin"]),
    ("facts", "", "out-of-memory.pickle.gz", &[]),
    ("graph", "", "graph.json.zst", &[]),
];

/// The README's pictures: view and theme.
const README: [(&str, &str); 3] = [
    ("overview", "light"),
    ("timeline", "dark"),
    ("flame", "light"),
];

#[derive(Parser)]
#[command(about = "Screenshots of every view, light and dark")]
struct Arguments {
    /// The built page's folder
    #[arg(long)]
    page: Option<PathBuf>,
    /// The folder to write to
    #[arg(long, default_value = "shots")]
    out: PathBuf,
    /// The viewport's size in CSS pixels
    #[arg(long, default_value = "1280x720")]
    size: String,
    /// Take the README's pictures instead
    #[arg(long)]
    readme: bool,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let server = Server::start(&arguments.page.clone().unwrap_or_else(page_folder), 0)?;
    let (width, height) = arguments.size.split_once('x').unwrap_or(("1280", "720"));
    let size_px = (width.parse()?, height.parse()?);
    for theme in ["light", "dark"] {
        let chromium = Chromium::start()?;
        let mut page = chromium.page()?;
        page.set_viewport(size_px.0, size_px.1, 1.0)?;
        page.set_color_scheme(theme)?;
        if !arguments.readme {
            page.goto(&server.url(""))?;
            page.pause(Duration::from_millis(500))?;
            page.screenshot(&arguments.out.join(format!("start-{theme}.png")))?;
        }
        for shot in SHOTS {
            if arguments.readme && !README.contains(&(shot.0, theme)) {
                continue;
            }
            take(&mut page, &server, &arguments, theme, &shot)?;
        }
        for complaint in page.complaints()? {
            println!("console: {complaint}");
        }
    }
    println!("written to {}", arguments.out.display());
    Ok(())
}

fn take(
    page: &mut Page,
    server: &Server,
    arguments: &Arguments,
    theme: &str,
    shot: &Shot,
) -> Result<()> {
    let (view, key, sample, acts) = *shot;
    page.goto("about:blank")?;
    page.goto(&server.url(&format!("?src=samples/{sample}")))?;
    page.wait_for("!!document.querySelector('main .view')", PATIENCE)?;
    page.pause(Duration::from_millis(300))?;
    for act in acts {
        page.key("2", Modifiers::NONE)?;
        page.wait_for_paint(PATIENCE)?;
        match *act {
            "peak" => page.key("p", Modifiers::NONE)?,
            _ => {
                let (x_px, y_px) = page.middle_of("main .stage")?;
                page.click(x_px, y_px * 1.4, 1)?;
            }
        }
        page.pause(Duration::from_millis(400))?;
        page.key("0", Modifiers::NONE)?;
    }
    // The graph is its file's only view, so no key is pressed.
    if view != "graph" {
        page.clear_marks()?;
    }
    if key.is_empty() && view != "graph" {
        let (x_px, y_px) = page.middle_of(&format!(".rail [data-view={view}]"))?;
        page.click(x_px, y_px, 1)?;
    } else if !key.is_empty() {
        page.key(key, Modifiers::NONE)?;
    }
    let painted = format!(
        "performance.getEntriesByName('{PAINTED}').some(mark => mark.detail?.view === '{view}')"
    );
    if page.wait_for(&painted, Duration::from_secs(5)).is_err() {
        println!("{view} left no mark");
    }
    page.wait_until_settled(PATIENCE)?;
    // Move the pointer away from elements with tooltips.
    page.mouse_move(2.0, 2.0)?;
    page.pause(Duration::from_millis(500))?;
    if arguments.readme {
        webp(page, &arguments.out.join(format!("{view}.webp")))
    } else {
        page.screenshot(&arguments.out.join(format!("{view}-{theme}.png")))
    }
}

/// Writes a screenshot as WebP, a fifth of a PNG's size.
fn webp(page: &mut Page, path: &Path) -> Result<()> {
    page.screenshot_as(path, "webp", 85)
}
