//! Takes screenshots of the page after the given user actions.
//!
//! ```text
//! cargo xtask page --fast                                  # build the page
//! cargo run -p vramscope-browser-tests --bin shot -- \
//!     --page target/page-fast --file some.pickle --size 1280x720 --theme dark \
//!     painted shot=whole.png wheel=640,400,-600 wait=300 shot=near.png \
//!     click=640,400 shot=details.png key=p shot=peak.png
//! ```
//!
//! The steps run in order. Each is `name` or `name=value`:
//!
//! | step | does |
//! | --- | --- |
//! | `shot=FILE.png` | writes a screenshot of the viewport |
//! | `painted` | waits until the page has painted a timeline (its `vramscope:painted` mark) |
//! | `settled` | waits until no mark has come for 150 ms |
//! | `wait=MS` | waits |
//! | `until=JS` | waits until the expression is truthy |
//! | `move=X,Y` `click=X,Y` `dblclick=X,Y` | mouse, in CSS pixels |
//! | `clickon=SELECTOR` `hover=SELECTOR` | clicks or hovers the middle of an element |
//! | `drag=X,Y,X2,Y2` `altdrag=…` `shiftdrag=…` | drags with the left button |
//! | `wheel=X,Y,DY` `shiftwheel=…` `ctrlwheel=…` | turns the wheel; negative DY zooms in |
//! | `key=NAME` `type=TEXT` | keyboard; names as in `KeyboardEvent.key`, `ctrl+a`, `shift+Tab` |
//! | `file=PATH` | chooses a further file in the page's file input |
//! | `drop=X,Y,PATH` | drops a file at a point |
//! | `size=WxH` `theme=light\|dark` | changes the window |
//! | `js=EXPRESSION` | prints the value of a JavaScript expression |
//! | `text=SELECTOR` | prints an element's visible text |
//! | `marks` | prints the page's User Timing marks |
//! | `tree` | prints the page's accessibility tree |
//!
//! At the end it prints the console's errors and warnings, and fails if there are any.
#![expect(clippy::print_stdout, reason = "a command line tool")]

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Parser;
use vramscope_browser_tests::{Chromium, Modifiers, Page, Server, page_folder};

/// The longest that a step may wait for the page.
const PATIENCE: Duration = Duration::from_secs(120);

/// Selector of the page's file input.
const FILE_INPUT: &str = "input[type=file]";

#[derive(Parser)]
#[command(about = "Screenshots of the page; see the source's head for the steps")]
struct Arguments {
    /// The built page's folder
    #[arg(long)]
    page: Option<PathBuf>,
    /// An address to open instead of the built page
    #[arg(long)]
    url: Option<String>,
    /// Text to append to the page's address, such as `?src=samples/x.pickle.gz`
    #[arg(long, default_value = "")]
    query: String,
    /// Files to load before the steps
    #[arg(long)]
    file: Vec<PathBuf>,
    /// The viewport's size in CSS pixels
    #[arg(long, default_value = "1280x720")]
    size: String,
    /// Device pixels per CSS pixel
    #[arg(long, default_value_t = 1.0)]
    scale: f64,
    /// The system's colour scheme: light or dark
    #[arg(long, default_value = "light")]
    theme: String,
    /// The steps, in order
    steps: Vec<String>,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let server = Server::start(&arguments.page.unwrap_or_else(page_folder), 0)?;
    let chromium = Chromium::start()?;
    let mut page = chromium.page()?;
    set_size(&mut page, &arguments.size, arguments.scale)?;
    page.set_color_scheme(&arguments.theme)?;
    let url = arguments.url.unwrap_or_else(|| server.url(""));
    page.goto(&format!("{url}{}", arguments.query))?;
    if !arguments.file.is_empty() {
        let ready = format!("document.querySelector('{FILE_INPUT}')");
        page.wait_for(&format!("!!{ready}"), PATIENCE)?;
        page.choose_files(FILE_INPUT, &arguments.file)?;
    }
    for step in &arguments.steps {
        let (name, value) = step.split_once('=').unwrap_or((step, ""));
        run_step(&mut page, name, value, arguments.scale)
            .with_context(|| format!("step {step}"))?;
    }
    let complaints = page.complaints()?;
    for complaint in &complaints {
        println!("console: {complaint}");
    }
    if !complaints.is_empty() {
        bail!("the page complained {} times", complaints.len());
    }
    Ok(())
}

/// Runs one step. Each of the three functions returns whether the step is one of its own.
fn run_step(page: &mut Page, name: &str, value: &str, scale: f64) -> Result<()> {
    let known = mouse_step(page, name, value)?
        || looking_step(page, name, value)?
        || other_step(page, name, value, scale)?;
    if !known {
        bail!("no such step");
    }
    Ok(())
}

fn mouse_step(page: &mut Page, name: &str, value: &str) -> Result<bool> {
    let numbers: Vec<f64> = value
        .split(',')
        .map_while(|part| part.parse().ok())
        .collect();
    let (held, gesture) = held_keys(name);
    match (gesture, numbers.as_slice()) {
        ("move", &[x_px, y_px]) => page.mouse_move(x_px, y_px)?,
        ("click", &[x_px, y_px]) => page.click(x_px, y_px, 1)?,
        ("dblclick", &[x_px, y_px]) => page.click(x_px, y_px, 2)?,
        ("wheel", &[x_px, y_px, delta_px]) => page.wheel(x_px, y_px, delta_px, held)?,
        ("drag", &[x_px, y_px, to_x_px, to_y_px]) => {
            page.drag((x_px, y_px), (to_x_px, to_y_px), 10, held)?;
        }
        ("drop", &[x_px, y_px]) => {
            let path = value.splitn(3, ',').nth(2).context("drop=X,Y,PATH")?;
            page.drop_files(x_px, y_px, &[path.into()])?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// Splits a step such as `altdrag` into the held key and the action.
fn held_keys(name: &str) -> (Modifiers, &str) {
    let keys = [
        ("alt", Modifiers::ALT),
        ("ctrl", Modifiers::CONTROL),
        ("shift", Modifiers::SHIFT),
    ];
    keys.into_iter()
        .find_map(|(prefix, held)| Some((held, name.strip_prefix(prefix)?)))
        .unwrap_or((Modifiers::NONE, name))
}

/// Runs a step that changes nothing.
fn looking_step(page: &mut Page, name: &str, value: &str) -> Result<bool> {
    match name {
        "shot" => page.screenshot(Path::new(value))?,
        "painted" => page.wait_for_paint(PATIENCE).map(drop)?,
        "settled" => page.wait_until_settled(PATIENCE)?,
        "wait" => page.pause(Duration::from_millis(value.parse()?))?,
        "until" => page.wait_for(value, PATIENCE).map(drop)?,
        "js" => println!("{}", page.eval(value)?),
        "text" => println!("{}", page.text(value)?),
        "marks" => {
            for mark in page.marks()? {
                println!("{:>10.1} ms  {}  {}", mark.time_ms, mark.name, mark.detail);
            }
        }
        "tree" => print!("{}", page.accessibility_tree()?),
        _ => return Ok(false),
    }
    Ok(true)
}

/// Runs a step that changes the page without the mouse.
fn other_step(page: &mut Page, name: &str, value: &str, scale: f64) -> Result<bool> {
    match name {
        "clickon" => page.click_on(value)?,
        "hover" => {
            let (x_px, y_px) = page.middle_of(value)?;
            page.mouse_move(x_px, y_px)?;
        }
        "key" => press(page, value)?,
        "type" => page.type_text(value)?,
        "file" => page.choose_files(FILE_INPUT, &[value.into()])?,
        "size" => set_size(page, value, scale)?,
        "theme" => page.set_color_scheme(value)?,
        _ => return Ok(false),
    }
    Ok(true)
}

/// Presses `key`, `shift+key`, `ctrl+key` or `alt+key`.
fn press(page: &mut Page, key: &str) -> Result<()> {
    match key.split_once('+') {
        Some((held, key)) if !held.is_empty() && !key.is_empty() => {
            page.key(key, held_keys(held).0)
        }
        _ => page.key(key, Modifiers::NONE),
    }
}

fn set_size(page: &mut Page, size: &str, scale: f64) -> Result<()> {
    let (width, height) = size.split_once('x').context("a size is WIDTHxHEIGHT")?;
    page.set_viewport(width.parse()?, height.parse()?, scale)
}
