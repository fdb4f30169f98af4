//! Decodes, models and analyses PyTorch CUDA memory snapshots.
//!
//! ```text
//! bytes ─> container ─> decode ─> model ─> analysis        model (─> cut, anonymise) ─> encode | vram_format ─> bytes
//!                        build ─┘
//! ```
//!
//! Nothing here touches a file, a clock, a thread or the DOM: values in, values out.
//!
//! # Words
//! As PyTorch's caching allocator uses them:
//! - *segment*: memory held from the device by one `cudaMalloc`, or one contiguous mapped range of an
//!   expandable segment. The sum of segments is *reserved*.
//! - *block*: a piece of a segment, in use (*allocated*), *pending free* (freed by the program while
//!   another stream may still use it) or *inactive* (free, cached). Allocated and pending free
//!   together are *active*.
//! - *requested*: the bytes a program asked for; a block's size is that, *rounded* up.
//! - *allocation*: one tenancy of an address, from its alloc event to its free_completed event.
//! - *moment*: the state between two events. Moment 0 is before the first recorded event, moment `m`
//!   after `m` events.
//!
//! # A tour
//! [`decode()`] reads any kind of file from any reader. This one is minimal: two allocations, one of which is freed again.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let file = r#"{"segments": [], "device_traces": [[
//!     {"action": "alloc", "addr": 4096, "size": 1024, "stream": 0, "time_us": 10,
//!      "frames": [{"name": "load", "filename": "data.py", "line": 3}]},
//!     {"action": "alloc", "addr": 8192, "size": 512, "stream": 0, "time_us": 20,
//!      "frames": [{"name": "forward", "filename": "model.py", "line": 7}]},
//!     {"action": "free_requested", "addr": 4096, "size": 1024, "stream": 0, "time_us": 30, "frames": []},
//!     {"action": "free_completed", "addr": 4096, "size": 1024, "stream": 0, "time_us": 30, "frames": []}
//! ]]}"#;
//! let snapshot = vramscope_core::decode(file.as_bytes())?;
//! // Damage is not an error as long as something can be read; it is reported as warnings.
//! assert_eq!(snapshot.warnings.damage().count(), 0);
//!
//! // Questions are asked of the devices of a recording, which caches what several answers need.
//! use vramscope_core::analysis::recording::Recording;
//! let recording = Recording::of(snapshot);
//! let device = recording.devices().next().ok_or("no device")?;
//! assert_eq!(device.peak_bytes(), 1536);
//! // The peak is after the second event; its time is in µs since 1970, and since the first event.
//! let peak = device.history.peak_moment;
//! assert_eq!((peak, device.time(peak)), (2, Some((20, 10))));
//!
//! // What was live then, by function? And what is left at the end?
//! use vramscope_core::analysis::groups::grouping::{GroupColumn, named_totals};
//! use vramscope_core::analysis::properties::Property;
//! use vramscope_core::analysis::time::selection::Selection;
//! let functions = GroupColumn::of(device, Property::Function, 1);
//! let live = |moment| named_totals(device.history, &functions, Selection::LiveAt(moment));
//! let names = |moment| live(moment).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
//! assert_eq!(names(peak), ["data.py load", "model.py forward"]);
//! assert_eq!(names(device.history.event_count), ["model.py forward"]);
//!
//! // The search box's language picks allocations.
//! use vramscope_core::analysis::search::filter::{Filter, Pointed, matches};
//! let filter = Filter::parse("frame:load size>=1KiB freed")?;
//! let found = matches(&filter, device, Pointed::default());
//! assert_eq!(found.set.iter().collect::<Vec<_>>(), [0]);
//!
//! // Everything on the page's first view, findings included.
//! use vramscope_core::analysis::report::overview::overview;
//! for finding in overview(device, 10).findings {
//!     println!("{}: {}", finding.title, finding.to_try.join(" "));
//! }
//!
//! // A smaller snapshot of the first two moments, which this program and torch's own tools can open.
//! use vramscope_core::cut::{Piece, cut};
//! let moments = (0, 2);
//! let smaller = cut(&recording, &[Piece { device, moments }]);
//! let mut bytes = Vec::new();
//! vramscope_core::encode::encode(&smaller, &mut bytes)?;
//! let again = Recording::of(vramscope_core::decode(&bytes[..])?);
//! assert_eq!(again.devices().map(|device| device.peak_bytes()).max(), Some(1536));
//! # Ok(())
//! # }
//! ```
//!
//! See also: [`analysis`] lists all questions by topic, [`tables`] returns typed rows for other programs, [`anonymise`]
//! hides names, [`vram_format`] writes the same snapshot in a fraction of the size, and [`build`] makes one without a file.

#![warn(missing_docs)]

// Lowest first: a module uses those of groups above its own.

pub mod bitset;
pub mod ids;
pub mod invisible;
mod known_ranges;
mod limits;
mod listed;
pub mod sorting;
pub mod units;

mod budget;
pub mod cards;

pub mod model;

mod error;

pub mod container;

pub mod decode;

pub mod vram_format;

pub mod open;

pub mod build;

pub mod analysis;

pub mod fleet;

mod transfer;

pub mod anonymise;
pub mod cut;

pub mod encode;

pub mod tables;

pub use error::{Error, ErrorKind};
pub use limits::Limits;
pub use model::Snapshot;
pub use open::decode;
