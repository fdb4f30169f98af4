//! The visible state of the page as the text after `#` in its address, so that a link shows the
//! same to whoever opens the same file. The page and the command line write such texts; the page
//! reads them.
//!
//! ```text
//! #file=run.pickle~1048576&view=flame&device=0&x=1200..3400&at=2100&pin=77&q=frame:attention&flame.what=end&v=1
//! ```
//!
//! Defaults are omitted, unknown words are skipped. The text names the file but does not contain
//! it: the file comes from `?src=` in the same address, or the user opens it.

mod terse;
#[cfg(test)]
mod tests;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use vramscope_core::ids::AllocationId;
use vramscope_core::invisible;
use vramscope_core::model::DeviceIndex;

use crate::axes::XUnit;
use crate::views::{Picture, ViewKind};
use vramscope_core::analysis::properties::Property;

/// The version of the format; texts of other versions are not read.
const VERSION: &str = "1";

/// Most words that are read, far more than the page writes: each choice costs some microseconds.
const MOST_WORDS: usize = 256;

const GRAPH: &str = "graph";

/// Characters that stay as they are. Encoded are spaces, so that links can be pasted into running text, and characters
/// that a shell interprets within quotes or that end the quotes, because names come from strangers.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b':')
    .remove(b'/')
    .remove(b',')
    .remove(b'!')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'@')
    .remove(b'?');

/// Start and end.
pub type Span = (f64, f64);

/// An open file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileKey {
    /// File name. When read from an address it is as the page shows it: see [`invisible::escaped_line`].
    pub name: String,
    /// Size in bytes; `None` if an address written by hand omits it.
    pub bytes: Option<u64>,
    /// Number of its tab if it is open several times; 0 for the first.
    pub copy: u32,
}

impl FileKey {
    /// The name, then `~` and the size. Without a size the `~` is omitted, unless the name itself contains one.
    fn word(&self) -> String {
        match self.bytes {
            Some(bytes) => format!("{}~{bytes}", self.name),
            None if self.name.contains('~') => format!("{}~", self.name),
            None => self.name.clone(),
        }
    }

    /// Name and size. A `~` before anything but a size belongs to the name.
    fn of_word(word: &str) -> (&str, Option<u64>) {
        match word.rsplit_once('~') {
            Some((name, "")) => (name, None),
            Some((name, bytes)) => match bytes.parse() {
                Ok(bytes) => (name, Some(bytes)),
                Err(_) => (word, None),
            },
            None => (word, None),
        }
    }
}

/// The object of the details.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Pinned {
    /// An allocation.
    Allocation(AllocationId),
    /// The event that leads to the cursor's moment.
    Event,
    /// A segment, named by one of its pieces: a row of the device's segment history.
    Segment(u32),
    /// The allocations that share a pixel.
    Group(Pixel),
}

/// A pixel of a picture, in the picture's units.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Pixel {
    /// The picture.
    pub picture: Picture,
    /// The unit of its x axis.
    pub axis: XUnit,
    /// Left and right edge, in that unit.
    pub x: Span,
    /// Lower and upper edge, bytes.
    pub y_bytes: Span,
}

impl Pinned {
    /// The word for the event. Allocations are given by their number.
    const EVENT: &str = "event";
    /// The first word for a segment.
    const SEGMENT: &str = "segment";
    /// The first word for a group.
    const GROUP: &str = "group";

    fn word(self) -> String {
        match self {
            Self::Allocation(id) => id.0.to_string(),
            Self::Event => Self::EVENT.to_owned(),
            Self::Segment(piece) => format!("{}:{piece}", Self::SEGMENT),
            Self::Group(pixel) => {
                let (picture, axis) = (word(&pixel.picture), word(&pixel.axis));
                let (x, y) = (span_text(pixel.x), span_text(pixel.y_bytes));
                format!("{}:{picture}:{axis}:{x}:{y}", Self::GROUP)
            }
        }
    }

    fn of_word(text: &str) -> Option<Self> {
        let parts: Vec<&str> = text.split(':').collect();
        match parts[..] {
            [Self::EVENT] => Some(Self::Event),
            [number] => Some(Self::Allocation(AllocationId(number.parse().ok()?))),
            [Self::SEGMENT, piece] => Some(Self::Segment(piece.parse().ok()?)),
            [Self::GROUP, picture, axis, x, y] => Some(Self::Group(Pixel {
                picture: of_word(picture)?,
                axis: of_word(axis)?,
                x: span(x)?,
                y_bytes: span(y)?,
            })),
            _ => None,
        }
    }
}

/// The visible state of one device.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DevicePlace {
    /// The device; `None` for the file's first, which has the highest peak.
    pub device: Option<DeviceIndex>,
    /// The unit of the x axis.
    pub axis: XUnit,
    /// The last used picture over the x axis.
    pub picture: Picture,
    /// Visible range of the x axis; `None` for all of it.
    pub x: Option<Span>,
    /// Visible range of the y axis in bytes; `None` for all of it.
    pub y_bytes: Option<Span>,
    /// Selected range of the x axis; `None` for none.
    pub range: Option<Span>,
    /// The cursor's moment; `None` without a cursor.
    pub cursor: Option<u32>,
    /// The pinned object; `None` if nothing is pinned.
    pub pinned: Option<Pinned>,
}

/// The visible state of the page. `C` are the choices of all views, `G` is the state of a file of
/// graphs; code that writes neither uses `()`.
#[derive(Clone, PartialEq, Debug)]
pub struct Address<C = (), G = ()> {
    /// The file; `None` for the start page.
    pub file: Option<FileKey>,
    /// The view; `None` for files with a single view of their own, such as fleets and graphs.
    pub view: Option<ViewKind>,
    /// The meaning of colours; `None` for the most informative one of the file.
    pub colour_by: Option<Property>,
    /// The text of the search box.
    pub search: String,
    /// Choices by view.
    pub choices: C,
    /// The state of the shown device.
    pub place: DevicePlace,
    /// The state of a file of graphs; it replaces view and device. `None` for other files.
    pub graph: Option<G>,
}

impl<C: Default, G> Default for Address<C, G> {
    fn default() -> Self {
        Self {
            file: None,
            view: None,
            colour_by: None,
            search: String::new(),
            choices: C::default(),
            place: DevicePlace::default(),
            graph: None,
        }
    }
}

impl<C, G> Address<C, G>
where
    C: Serialize + DeserializeOwned + Default,
    G: Serialize + DeserializeOwned + Default + Clone,
{
    /// The text without `#`; empty for the start page.
    #[must_use]
    pub fn to_text(&self) -> String {
        let Some(file) = &self.file else {
            return String::new();
        };
        let mut words = vec![("file".to_owned(), file.word())];
        if file.copy > 0 {
            words.push(("copy".to_owned(), file.copy.to_string()));
        }
        let view = self.view_name();
        words.extend(view.map(|name| ("view".to_owned(), name.to_owned())));
        words.extend(self.place_words());
        if let Some(colour_by) = &self.colour_by {
            words.push(("colour".to_owned(), word(colour_by)));
        }
        if !self.search.is_empty() {
            words.push(("q".to_owned(), self.search.clone()));
        }
        let mut chosen = changed(&self.choices);
        if let Some(graph) = self.graph.clone() {
            chosen.extend(changed(&OfGraph { graph }));
        }
        let chosen = chosen.into_iter();
        words.extend(chosen.map(|(key, value)| (key, terse::to_text(&value))));
        // Last, so that no text ends in a character that mail programs take for the end of a
        // sentence.
        words.push(("v".to_owned(), VERSION.to_owned()));
        let words = words
            .iter()
            .map(|(key, value)| format!("{}={}", encoded(key), encoded(value)));
        words.collect::<Vec<_>>().join("&")
    }

    fn view_name(&self) -> Option<&'static str> {
        match self.graph {
            Some(_) => Some(GRAPH),
            None => self.view.map(ViewKind::name),
        }
    }

    fn place_words(&self) -> impl Iterator<Item = (String, String)> {
        let DevicePlace {
            device,
            axis,
            picture,
            x,
            y_bytes,
            range,
            cursor,
            pinned,
        } = &self.place;
        let of_view = self.view.and_then(ViewKind::picture);
        let own_picture =
            (of_view.is_none() && *picture != Picture::default()).then(|| word(picture));
        let words = [
            ("device", device.map(|device| device.to_string())),
            ("axis", (*axis != XUnit::default()).then(|| word(axis))),
            ("picture", own_picture),
            ("x", x.map(span_text)),
            ("y", y_bytes.map(span_text)),
            ("range", range.map(span_text)),
            ("at", cursor.map(|moment| moment.to_string())),
            ("pin", pinned.map(Pinned::word)),
        ];
        let words = words.into_iter();
        words.filter_map(|(key, value)| Some((key.to_owned(), value?)))
    }

    /// Parses a text that can only refer to the file `name`, so that it may omit file and version.
    #[must_use]
    pub fn parse_of(text: &str, name: &str) -> Option<Self> {
        let words = text.strip_prefix('#').unwrap_or(text);
        let is_named = words.split('&').any(|word| word.starts_with("file="));
        if is_named || !words.contains('=') {
            return Self::parse(words);
        }
        let file = FileKey {
            name: name.to_owned(),
            bytes: None,
            copy: 0,
        };
        Self::parse(&format!(
            "file={}&{words}&v={VERSION}",
            encoded(&file.word())
        ))
    }

    /// Parses a text, with or without `#`; `None` if it has no file or is of another version.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.strip_prefix('#').unwrap_or(text);
        let words: Vec<(String, String)> = text
            .split('&')
            .filter_map(|word| word.split_once('='))
            .take(MOST_WORDS)
            .map(|(key, value)| (decoded(key), decoded(value)))
            .collect();
        let get = |key: &str| {
            let found = words.iter().find(|(known, _)| known == key);
            found.map(|(_, value)| value.as_str())
        };
        if get("v") != Some(VERSION) {
            return None;
        }
        let (name, bytes) = FileKey::of_word(get("file")?);
        let graph = (get("view") == Some(GRAPH)).then(|| choices_of::<OfGraph<G>>(&words).graph);
        let view = get("view").and_then(ViewKind::named);
        let number = |key| get(key)?.parse::<u32>().ok();
        Some(Self {
            file: Some(FileKey {
                name: invisible::escaped_line(name).into_owned(),
                bytes,
                copy: number("copy").unwrap_or(0),
            }),
            view,
            colour_by: get("colour").and_then(of_word),
            search: get("q").unwrap_or_default().to_owned(),
            choices: choices_of(&words),
            graph,
            place: DevicePlace {
                device: number("device"),
                axis: get("axis").and_then(of_word).unwrap_or_default(),
                picture: view
                    .and_then(ViewKind::picture)
                    .or_else(|| get("picture").and_then(of_word))
                    .unwrap_or_default(),
                x: get("x").and_then(span),
                y_bytes: get("y").and_then(span),
                range: get("range").and_then(span),
                cursor: number("at"),
                pinned: get("pin").and_then(Pinned::of_word),
            },
        })
    }
}

/// The address of a whole file in a view, as [`Address::to_text`] writes it.
#[must_use]
pub fn of_file(name: &str, bytes: u64, view: ViewKind) -> String {
    let name = format!("{name}~{bytes}");
    format!("file={}&view={}&v={VERSION}", encoded(&name), view.name())
}

/// A span rounded to a ten-thousandth of its length, which is finer than can be seen.
#[must_use]
pub fn rounded((from, to): Span) -> Span {
    let digits = decimals((from, to)) as i32;
    let factor = 10_f64.powi(digits);
    let round = |value: f64| (value * factor).round() / factor;
    (round(from), round(to))
}

fn decimals((from, to): Span) -> usize {
    let length = (to - from).abs().max(1e-6);
    (4.0 - length.log10().floor()).clamp(0.0, 10.0) as usize
}

fn span_text(span: Span) -> String {
    // The shortest text that parses to the same number.
    format!("{}..{}", span.0, span.1)
}

fn span(text: &str) -> Option<Span> {
    let (from, to) = text.split_once("..")?;
    let number = |text: &str| text.parse().ok().filter(|value: &f64| value.is_finite());
    let (from, to) = (number(from)?, number(to)?);
    // A shorter range would be written as an empty one.
    (to - from >= 1e-9).then_some((from, to))
}

/// A value's name in serde's form; empty if the value is not a plain name.
fn word<T: Serialize>(value: &T) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => word,
        _ => String::new(),
    }
}

fn of_word<T: DeserializeOwned>(word: &str) -> Option<T> {
    serde_json::from_value(Value::String(word.to_owned())).ok()
}

/// Puts a graph's state under the key `graph`, so that its words look like those of views.
#[derive(Default, Serialize, Deserialize)]
struct OfGraph<G> {
    graph: G,
}

/// The choices that differ from the default.
fn changed<T: Serialize + Default>(choices: &T) -> Vec<(String, Value)> {
    let first = flat(&T::default());
    let choices = flat(choices).into_iter();
    choices.filter(|choice| !first.contains(choice)).collect()
}

/// All choices, with the key `view.choice`.
fn flat<T: Serialize>(choices: &T) -> Vec<(String, Value)> {
    let Ok(Value::Object(views)) = serde_json::to_value(choices) else {
        return Vec::new();
    };
    let of_view = |(view, choices): (String, Value)| {
        let choices = match choices {
            Value::Object(choices) => choices,
            _ => Map::new(),
        };
        choices
            .into_iter()
            .map(move |(choice, value)| (format!("{view}.{choice}"), value))
    };
    views.into_iter().flat_map(of_view).collect()
}

/// The choices given by words `view.choice`. A word with an unknown key or an invalid value changes
/// nothing.
fn choices_of<T: Serialize + DeserializeOwned + Default>(words: &[(String, String)]) -> T {
    let mut choices = T::default();
    for (key, text) in words {
        let Some(((view, choice), value)) = key.split_once('.').zip(terse::parse(text)) else {
            continue;
        };
        let Ok(mut changed) = serde_json::to_value(&choices) else {
            continue;
        };
        if let Some(Value::Object(of_view)) = changed.get_mut(view) {
            of_view.insert(choice.to_owned(), value);
        }
        if let Ok(changed) = serde_json::from_value(changed) {
            choices = changed;
        }
    }
    choices
}

fn encoded(text: &str) -> impl std::fmt::Display {
    utf8_percent_encode(text, PLAIN)
}

/// A text that is not valid UTF-8 after decoding stays encoded.
fn decoded(text: &str) -> String {
    let decoded = percent_decode_str(text).decode_utf8();
    decoded.map_or_else(|_| text.to_owned(), |text| text.into_owned())
}
