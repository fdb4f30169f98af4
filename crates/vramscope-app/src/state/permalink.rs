//! What is seen, as the text behind `#` in the page's address: whoever opens the same file with it sees the
//! same. Back and forward go through these texts.
//!
//! ```text
//! #file=run.pickle~1048576&view=flame&device=0&x=1200..3400&at=2100&pin=77&q=frame:attention&flame.mode=peak&v=1
//! ```
//!
//! What is as it was at first is left out, unknown words are skipped, and what fits no such file is cut to
//! what does. The file itself is named, not held: by `?src=` in the same address, or the user drops it. The command
//! line writes such texts too (`commands/html/place.rs`), for the page to begin with.

mod terse;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use vramscope_core::ids::AllocationId;
use vramscope_core::model::DeviceIndex;

use super::{Choices, GraphPlace, OpenFile, State, Tab, ViewKind};
use crate::protocol::{Axis, ColourBy, Picture};

/// The form of these texts; other ones are not read.
const VERSION: &str = "1";

/// What stands for the view where the file holds graphs.
const GRAPH: &str = "graph";

/// From … to.
type Span = (f64, f64);

/// Which file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileKey {
    /// Its name.
    pub name: String,
    /// Its size.
    pub bytes: u64,
}

impl FileKey {
    /// The key of a file that is read.
    fn of(tab: &Tab) -> Option<Self> {
        Some(Self {
            name: tab.name.clone(),
            bytes: tab.file_bytes()?,
        })
    }

    /// Whether a tab holds this file.
    pub(super) fn is_of(&self, tab: &Tab) -> bool {
        Self::of(tab).as_ref() == Some(self)
    }
}

/// What is seen of one device.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Place {
    /// The device; `None` for the file's first.
    pub device: Option<DeviceIndex>,
    /// The x axis.
    pub axis: Axis,
    /// What the last picture was of.
    pub picture: Picture,
    /// The visible part; `None` is all of it.
    pub x: Option<Span>,
    /// The visible heights, in bytes; `None` is all of them.
    pub y_bytes: Option<Span>,
    /// The selected part of the axis.
    pub range: Option<Span>,
    /// The cursor's moment.
    pub cursor: Option<u32>,
    /// What is pinned.
    pub pinned: Option<AllocationId>,
}

/// What is seen.
#[derive(Clone, PartialEq, Debug)]
pub struct Permalink {
    /// Of which file; `None`: the start page.
    pub file: Option<FileKey>,
    /// In which view.
    pub view: ViewKind,
    /// What the colours say.
    pub colour_by: ColourBy,
    /// What is searched for.
    pub search: String,
    /// What was chosen in each view.
    pub choices: Choices,
    /// Which part.
    pub place: Place,
    /// What is seen of a file of graphs, of which nothing of the above is said.
    pub graph: Option<GraphPlace>,
}

impl Default for Permalink {
    fn default() -> Self {
        Self {
            file: None,
            view: ViewKind::default(),
            colour_by: ColourBy::CallSite,
            search: String::new(),
            choices: Choices::default(),
            place: Place::default(),
            graph: None,
        }
    }
}

/// How the address follows a change.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Change {
    /// Nothing has changed.
    None,
    /// The picture or the cursor moved: the address changes where it stands, once that is over.
    Moved,
    /// Something was typed or chosen: one step back, once that is over.
    Chosen,
    /// Something else is seen: one step back at once.
    Step,
}

impl Permalink {
    /// What is seen now; `None` while the current file is being read, or cannot be.
    #[must_use]
    pub fn of(state: &State) -> Option<Self> {
        if let Some(graphs) = state.tab().and_then(|tab| tab.graphs()) {
            let mut place = graphs.place.clone();
            place.x = place.x.map(rounded);
            return Some(Self {
                file: FileKey::of(state.tab()?),
                graph: Some(place),
                ..Self::default()
            });
        }
        let mut link = Self {
            view: state.view,
            colour_by: state.colour_by,
            search: state.search.text.clone(),
            choices: state.choices.clone(),
            ..Self::default()
        };
        if state.current.is_none() {
            return Some(Self::default());
        }
        let tab = state.tab()?;
        link.file = Some(FileKey::of(tab)?);
        link.place = place_of(tab.ready()?);
        Some(link)
    }

    /// How the address follows from one to the other.
    #[must_use]
    pub fn change(&self, after: &Self) -> Change {
        let whole = |link: &Self| {
            let Place {
                device,
                axis,
                pinned,
                ..
            } = link.place;
            let graph = link.graph.as_ref().map(|graph| &graph.name);
            (
                link.file.clone(),
                link.view,
                device,
                axis,
                pinned,
                graph.cloned(),
            )
        };
        let of_graph = |link: &Self| {
            let graph = link.graph.as_ref();
            graph.map(|graph| (graph.order, graph.buffer, graph.bars, graph.constant_bytes))
        };
        if whole(self) != whole(after) {
            Change::Step
        } else if (
            &self.search,
            &self.choices,
            self.colour_by,
            self.place.range,
            of_graph(self),
        ) != (
            &after.search,
            &after.choices,
            after.colour_by,
            after.place.range,
            of_graph(after),
        ) {
            Change::Chosen
        } else if self != after {
            Change::Moved
        } else {
            Change::None
        }
    }

    /// The text, without `#`; empty for the start page.
    #[must_use]
    pub fn to_text(&self) -> String {
        let Some(file) = &self.file else {
            return String::new();
        };
        let Place {
            device,
            axis,
            picture,
            x,
            y_bytes,
            range,
            cursor,
            pinned,
        } = &self.place;
        let mut words: Vec<(String, String)> = Vec::new();
        let mut add = |key: &str, value: Option<String>| {
            words.extend(value.map(|value| (key.to_owned(), value)));
        };
        add("file", Some(format!("{}~{}", file.name, file.bytes)));
        let view = match &self.graph {
            Some(_) => GRAPH,
            None => self.view.name(),
        };
        add("view", Some(view.to_owned()));
        add("device", device.map(|device| device.to_string()));
        add("axis", unless_default(axis));
        add(
            "picture",
            self.view
                .picture()
                .is_none()
                .then(|| unless_default(picture))
                .flatten(),
        );
        add("x", x.map(span_text));
        add("y", y_bytes.map(span_text));
        add("range", range.map(span_text));
        add("at", cursor.map(|moment| moment.to_string()));
        add("pin", pinned.map(|id| id.0.to_string()));
        add(
            "colour",
            (self.colour_by != ColourBy::CallSite).then(|| word(&self.colour_by)),
        );
        add("q", (!self.search.is_empty()).then(|| self.search.clone()));
        let mut chosen = changed(&self.choices);
        if let Some(graph) = self.graph.clone() {
            chosen.extend(changed(&OfGraph { graph }));
        }
        words.extend(
            chosen
                .into_iter()
                .map(|(key, value)| (key, terse::to_text(&value))),
        );
        // Last, so that no text ends in what mail programs take for the end of the sentence.
        words.push(("v".to_owned(), VERSION.to_owned()));
        let words = words
            .iter()
            .map(|(key, value)| format!("{}={}", encoded(key), encoded(value)));
        words.collect::<Vec<_>>().join("&")
    }

    /// Reads a text, with or without `#`; `None` if it is not one of these.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.strip_prefix('#').unwrap_or(text);
        let words: Vec<(String, String)> = text
            .split('&')
            .filter_map(|word| word.split_once('='))
            .map(|(key, value)| (decoded(key), decoded(value)))
            .collect();
        let get = |key: &str| {
            let found = words.iter().find(|(known, _)| known == key);
            found.map(|(_, value)| value.as_str())
        };
        if get("v") != Some(VERSION) {
            return None;
        }
        let (name, bytes) = get("file")?.rsplit_once('~')?;
        let graph = (get("view") == Some(GRAPH)).then(|| choices_of::<OfGraph>(&words).graph);
        let view =
            get("view").and_then(|name| ViewKind::ALL.into_iter().find(|view| view.name() == name));
        let view = view.unwrap_or_default();
        let number = |key| get(key)?.parse::<u32>().ok();
        Some(Self {
            file: Some(FileKey {
                name: name.to_owned(),
                bytes: bytes.parse().ok()?,
            }),
            view,
            colour_by: get("colour")
                .and_then(of_word)
                .unwrap_or(ColourBy::CallSite),
            search: get("q").unwrap_or_default().to_owned(),
            choices: choices_of(&words),
            graph,
            place: Place {
                device: number("device"),
                axis: get("axis").and_then(of_word).unwrap_or_default(),
                picture: view
                    .picture()
                    .or_else(|| get("picture").and_then(of_word))
                    .unwrap_or_default(),
                x: get("x").and_then(span),
                y_bytes: get("y").and_then(span),
                range: get("range").and_then(span),
                cursor: number("at"),
                pinned: number("pin").map(AllocationId),
            },
        })
    }
}

fn place_of(file: &OpenFile) -> Place {
    let mut place = Place {
        // The first is the one with the highest peak: it needs no word.
        device: (file.device > 0)
            .then(|| file.facts().map(|facts| facts.device))
            .flatten(),
        axis: file.axis,
        picture: file.picture,
        ..Place::default()
    };
    let Some((view, bounds)) = file.view().zip(file.bounds()) else {
        return place;
    };
    let region = view.region;
    let is_whole = |(from, to): Span, end: f64| from <= 0.0 && to >= end;
    let x = (region.x_min, region.x_max);
    let y_bytes = (region.y_min_bytes, region.y_max_bytes);
    place.x = (!is_whole(x, bounds.x_end)).then(|| rounded(x));
    place.y_bytes = (!is_whole(y_bytes, bounds.y_end_bytes)).then(|| rounded(y_bytes));
    place.range = view.range.map(rounded);
    place.cursor = view.cursor_moment();
    place.pinned = view.pinned;
    place
}

/// A span as exact as it can be seen: to a ten-thousandth of its length.
fn rounded((from, to): Span) -> Span {
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
    // The shortest text that reads as the same number.
    format!("{}..{}", span.0, span.1)
}

fn span(text: &str) -> Option<Span> {
    let (from, to) = text.split_once("..")?;
    let number = |text: &str| text.parse().ok().filter(|value: &f64| value.is_finite());
    let (from, to) = (number(from)?, number(to)?);
    (from < to).then_some((from, to))
}

/// The one word that a value is in messages.
fn word<T: Serialize>(value: &T) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => word,
        _ => String::new(),
    }
}

fn unless_default<T: Serialize + Default + PartialEq>(value: &T) -> Option<String> {
    (*value != T::default()).then(|| word(value))
}

fn of_word<T: DeserializeOwned>(word: &str) -> Option<T> {
    serde_json::from_value(Value::String(word.to_owned())).ok()
}

/// A graph's place, so that its words have a beginning as those of views have.
#[derive(Default, Serialize, Deserialize)]
struct OfGraph {
    graph: GraphPlace,
}

/// The single choices that are not as at first.
fn changed<T: Serialize + Default>(choices: &T) -> Vec<(String, Value)> {
    let first = flat(&T::default());
    let choices = flat(choices).into_iter();
    choices.filter(|choice| !first.contains(choice)).collect()
}

/// Each single choice under `view.choice`.
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

/// The choices that words of the form `view.choice` make; one that is none leaves the rest as it is.
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

/// Percent-encodes what ends a word or an address; spaces too, for addresses in running text.
fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    let mut utf8 = [0; 4];
    for c in text.chars() {
        if c.is_ascii_alphanumeric() || "-._~:/,;!'()*@$?".contains(c) {
            encoded.push(c);
        } else {
            for byte in c.encode_utf8(&mut utf8).bytes() {
                encoded.push_str(&format!("%{byte:02X}"));
            }
        }
    }
    encoded
}

fn decoded(text: &str) -> String {
    crate::browser::url::percent_decoded(text)
}

#[cfg(test)]
mod tests {
    use proptest::option;
    use proptest::prelude::*;

    use super::*;
    use crate::protocol::views::graph::OrderName;

    fn link() -> Permalink {
        Permalink {
            file: Some(FileKey {
                name: "my run~1.pickle".to_owned(),
                bytes: 1_048_576,
            }),
            view: ViewKind::Table,
            search: "frame:attention size>100MiB & \"a=b\"".to_owned(),
            place: Place {
                device: Some(3),
                axis: Axis::Time,
                picture: Picture::Map,
                x: Some((12.5, 900.0)),
                range: Some((20.0, 30.0)),
                cursor: Some(7),
                pinned: Some(AllocationId(99)),
                ..Place::default()
            },
            ..Permalink::default()
        }
    }

    #[test]
    fn reads_like_this() {
        let text = link().to_text();
        assert_eq!(
            text,
            "file=my%20run~1.pickle~1048576&view=table&device=3&axis=time&picture=map&x=12.5..900&range=20..30\
             &at=7&pin=99&q=frame:attention%20size%3E100MiB%20%26%20%22a%3Db%22&v=1"
        );
        assert_eq!(Permalink::parse(&format!("#{text}")), Some(link()));
    }

    #[test]
    fn graphs_read_like_this() {
        let link = Permalink {
            file: link().file,
            graph: Some(GraphPlace {
                name: "model__0_forward_1_fused".to_owned(),
                order: Some(OrderName::Lpmf),
                x: Some((2.5, 40.0)),
                step: Some(12),
                constant_bytes: 1 << 30,
                ..GraphPlace::default()
            }),
            ..Permalink::default()
        };
        let text = link.to_text();
        // The order of choices is that of JSON's keys, which depends on how serde_json is built.
        let mut words: Vec<&str> = text.split('&').collect();
        words.sort_unstable();
        assert_eq!(
            words,
            [
                "file=my%20run~1.pickle~1048576",
                "graph.constant_bytes=1073741824",
                "graph.name=model__0_forward_1_fused",
                "graph.order=lpmf",
                "graph.step=12",
                "graph.x=!(2.5,40.0)",
                "v=1",
                "view=graph"
            ]
        );
        assert_eq!(Permalink::parse(&text), Some(link.clone()));
        let other = |edit: fn(&mut GraphPlace)| {
            let mut after = link.clone();
            after.graph.as_mut().map(edit);
            link.change(&after)
        };
        assert_eq!(other(|graph| graph.step = None), Change::Moved);
        assert_eq!(other(|graph| graph.order = None), Change::Chosen);
        assert_eq!(other(|graph| graph.name.clear()), Change::Step);
    }

    #[test]
    fn unknown_and_wrong_words_are_skipped() {
        let text = "later=1&flame.x=!n&flame.later=(a:1)&nonsense.a=1&device=many&x=9..1&y=a..b&view=later&file=a~1&&=&v=1";
        let expected = Permalink {
            file: Some(FileKey {
                name: "a".to_owned(),
                bytes: 1,
            }),
            ..Permalink::default()
        };
        assert_eq!(Permalink::parse(text), Some(expected));
        for other in [
            "",
            "#",
            "file=a~1",
            "file=a~1&v=2",
            "view=map&v=1",
            "file=a&v=1",
            "section-2",
        ] {
            assert_eq!(Permalink::parse(other), None, "{other}");
        }
    }

    #[test]
    fn the_start_page_has_no_text() {
        assert_eq!(Permalink::default().to_text(), "");
    }

    #[test]
    fn steps_are_told_from_movements() {
        let before = link();
        let after = |edit: fn(&mut Permalink)| {
            let mut after = before.clone();
            edit(&mut after);
            before.change(&after)
        };
        assert_eq!(after(|_| {}), Change::None);
        assert_eq!(after(|link| link.place.x = None), Change::Moved);
        assert_eq!(after(|link| link.place.cursor = None), Change::Moved);
        assert_eq!(after(|link| link.search.clear()), Change::Chosen);
        assert_eq!(after(|link| link.place.pinned = None), Change::Step);
        assert_eq!(after(|link| link.view = ViewKind::Flame), Change::Step);
        assert_eq!(after(|link| link.file = None), Change::Step);
    }

    proptest! {
        #[test]
        fn every_link_comes_back(
            name in "\\PC{0,12}", bytes: u64, search in "\\PC{0,12}", view in 0..10_usize,
            x in option::of((0.0..1e7, 1e-3..1e6)), y in option::of((0.0..1e11, 512.0..1e11)),
            cursor: Option<u32>, pinned: Option<u32>, device: Option<u32>,
        ) {
            let span = |(from, length): Span| rounded((from, from + length));
            let view = ViewKind::ALL[view];
            let link = Permalink {
                file: Some(FileKey { name, bytes }),
                view,
                search,
                place: Place {
                    device,
                    picture: view.picture().unwrap_or_default(),
                    x: x.map(span),
                    y_bytes: y.map(span),
                    range: x.map(span),
                    cursor,
                    pinned: pinned.map(AllocationId),
                    ..Place::default()
                },
                ..Permalink::default()
            };
            let text = link.to_text();
            prop_assert!(text.is_ascii() && !text.contains([' ', '"', '<', '>', '`', '#']));
            prop_assert_eq!(Permalink::parse(&text), Some(link));
        }

        #[test]
        fn rounding_is_finer_than_what_is_seen(from in 0.0..1e9, length in 0.01..1e9) {
            let (a, b) = rounded((from, from + length));
            let off = |value: f64, rounded: f64| (value - rounded).abs() <= length * 1e-4;
            prop_assert!(off(from, a) && off(from + length, b));
            prop_assert_eq!(rounded((a, b)), (a, b));
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,40}") {
            let _ = Permalink::parse(&format!("file={text}~1&{text}&v=1"));
        }
    }
}
