//! Checks the order of rooms: which modules of a crate may use which others.
//!
//! A room is a top-level module of a crate, or of a folder that is declared here. Rooms stand on floors. A room
//! may use rooms on its own floor and below. Files of different rooms must not use each other in a circle. A
//! crate's root and a `mod.rs` above rooms belong to no room: they may use everything.
//!
//! The order of crates is in `tidy`, because cargo knows their dependencies.

use std::collections::{BTreeSet, VecDeque};

use super::modules::{Modules, Use};
use super::source::Source;

/// The order of the rooms in a folder.
pub(super) struct Order<'a> {
    /// The crate's sources, or a folder in them.
    folder: &'a str,
    /// The rooms by floor, lowest first.
    floors: &'a [&'a [&'a str]],
}

/// The orders of all folders. A room that is not listed is a finding.
const ORDERS: [Order; 11] = [
    Order {
        folder: "crates/vramscope-core/src",
        floors: &[
            &[
                "invisible",
                "bitset",
                "budget",
                "cards",
                "floats",
                "ids",
                "known_ranges",
                "limits",
                "sorting",
                "units",
            ],
            &["model"],
            &["error"],
            &["container"],
            &["decode"],
            &["vram_format"],
            &["open"],
            &["build"],
            &["analysis"],
            &["fleet"],
            &["transfer"],
            &["anonymise", "cut"],
            &["encode"],
            &["tables"],
        ],
    },
    Order {
        folder: "crates/vramscope-core/src/analysis",
        floors: &[
            &["time"],
            &["code"],
            &["memory"],
            &["roles"],
            &["recording"],
            &["search"],
            &["groups"],
            &["compare"],
            &["report"],
        ],
    },
    Order {
        folder: "crates/vramscope-plan/src",
        floors: &[
            &["ranges"],
            &["packing"],
            &["allocator_model", "pool_planner", "problems"],
            &["plan", "trust"],
            &["bars", "words"],
            &["what_if"],
            &["planner"],
        ],
    },
    Order {
        folder: "crates/vramscope-text/src",
        floors: &[
            &["compact", "figure", "needles"],
            &["context", "cursor"],
            &["record"],
            &["advice", "forms"],
            &["conclude", "reader"],
            &["whole"],
        ],
    },
    Order {
        folder: "crates/vramscope-inductor/src",
        floors: &[
            &["invalid", "lists", "order"],
            &["graph"],
            &["build", "timeline", "validate"],
            &["orders", "read"],
            &["ordered", "search"],
        ],
    },
    Order {
        folder: "crates/vramscope-app/src",
        floors: &[
            &["parts", "protocol"],
            &["browser"],
            &["engine"],
            &["canvas"],
            &["saving"],
            &["state", "worker"],
            &["components", "mini"],
        ],
    },
    Order {
        folder: "crates/vramscope-cli/src",
        floors: &[
            &["harmless", "memory"],
            &["failure", "guarded", "help", "hints", "temporary"],
            &["output", "page", "progress"],
            &["input", "interruption"],
            &["arguments", "destination"],
            &["report"],
            &["subject"],
            &["export", "inputs"],
            &["commands"],
            &["opened"],
            &["mcp"],
        ],
    },
    Order {
        folder: "crates/vramscope-view/src",
        floors: &[
            &[
                "colour",
                "coverage",
                "display",
                "editor",
                "scroll",
                "shortened",
                "steps",
                "theme",
                "viewport",
                "views",
            ],
            &["axes", "groups", "raster", "scene"],
            &[
                "address",
                "allocator_picture",
                "lanes",
                "line_labels",
                "map",
                "marks",
                "moment_facts",
                "oom_marks",
                "reserved",
                "restacked",
                "ruler",
                "segment_bands",
                "step_marks",
                "waterfall",
            ],
            &[
                "allocator_window",
                "band_labels",
                "chart",
                "decorations",
                "extent",
                "header",
                "line_facts",
                "lines",
            ],
            &[
                "flame",
                "fleet",
                "graph",
                "minimap",
                "reserved_chart",
                "stacked_curves",
            ],
            &["change_flame"],
            &["plot"],
        ],
    },
    Order {
        folder: "crates/vramscope-record/src",
        floors: &[
            &["fixed", "layout", "rank", "settings", "symbols"],
            &["reader", "writer"],
            &["model"],
            &["snapshot"],
            &["convert"],
        ],
    },
    Order {
        folder: "crates/vramscope-capture/src",
        floors: &[
            &["log_file", "symbols"],
            &["convert"],
            &["failure", "snapshot_names"],
            &["destination", "launch", "log_folder", "output"],
            &["run_folder", "written_snapshot"],
            &["follow"],
            &["finish"],
            &["commands"],
        ],
    },
    Order {
        folder: "crates/vramscope-inject/src",
        floors: &[
            &["dlsym"],
            &["driver", "hook", "unwinder"],
            &["log"],
            &["ranges", "stack"],
            &["parts"],
            &["api", "hooks", "nvtx"],
            &["linker", "process"],
        ],
    },
];

/// Maximum number of modules in `core/src/analysis/mod.rs`: it declares rooms, not single analyses.
const MOST_ANALYSIS_ROOMS: usize = 9;

/// Checks all orders, and the number of rooms for analyses.
pub(super) fn check(sources: &[Source], findings: &mut Vec<String>) {
    for order in &ORDERS {
        order.check(sources, findings);
    }
    let analysis = "crates/vramscope-core/src/analysis/mod.rs";
    let modules = sources.iter().filter(|source| source.name == analysis);
    let modules = modules.flat_map(|source| &source.tree.items);
    let rooms = modules.filter(|item| matches!(item, syn::Item::Mod(_)));
    let rooms = rooms.count();
    if rooms > MOST_ANALYSIS_ROOMS {
        findings.push(format!(
            "{analysis} declares {rooms} modules, at most {MOST_ANALYSIS_ROOMS}; put analyses into rooms"
        ));
    }
}

impl Order<'_> {
    fn check(&self, sources: &[Source], findings: &mut Vec<String>) {
        let Some(end) = self.folder.find("/src") else {
            return;
        };
        let modules = Modules::of(&self.folder[..end + "/src".len()], sources);
        self.check_names(&modules, findings);
        let uses = modules.uses();
        for arrow in &uses {
            let (Some(from), Some(to)) = (self.room(arrow.user), self.room(arrow.used)) else {
                continue;
            };
            let (Some(low), Some(high)) = (self.floor(from), self.floor(to)) else {
                continue;
            };
            if low < high {
                findings.push(format!(
                    "{}:{} uses {}: the room `{from}` stands below `{to}`",
                    arrow.user, arrow.line, arrow.used
                ));
            }
        }
        self.check_circles(&uses, findings);
    }

    /// Checks that each room is listed, and that each listed room exists.
    fn check_names(&self, modules: &Modules, findings: &mut Vec<String>) {
        let rooms: BTreeSet<_> = modules.names().filter_map(|name| self.room(name)).collect();
        let listed: BTreeSet<_> = self.floors.iter().copied().flatten().copied().collect();
        for room in rooms.symmetric_difference(&listed) {
            let is = if listed.contains(room) {
                "is on a floor but has no file"
            } else {
                "is on no floor"
            };
            findings.push(format!(
                "{}: the room `{room}` {is} (xtask/src/tidy/rooms.rs)",
                self.folder
            ));
        }
    }

    /// Finds circles of rooms on the same floor. A circle over several floors has an arrow upwards, which is a
    /// finding already.
    fn check_circles(&self, uses: &[Use], findings: &mut Vec<String>) {
        let mut reported = BTreeSet::new();
        for arrow in uses {
            let (Some(from), Some(to)) = (self.room(arrow.user), self.room(arrow.used)) else {
                continue;
            };
            if from == to || self.floor(from) != self.floor(to) {
                continue;
            }
            let Some(way) = self.way(arrow.used, arrow.user, uses) else {
                continue;
            };
            let rooms = BTreeSet::from([from, to]);
            if reported.insert(rooms) {
                findings.push(format!(
                    "{}:{} uses itself by way of another room: {}",
                    arrow.user,
                    arrow.line,
                    way.join(" -> ")
                ));
            }
        }
    }

    /// The files on a shortest path of uses from one file to another, through rooms only.
    fn way<'u>(&self, from: &'u str, to: &str, uses: &[Use<'u>]) -> Option<Vec<&'u str>> {
        let mut came_from = vec![(from, None)];
        let mut open = VecDeque::from([0]);
        while let Some(at) = open.pop_front() {
            let (name, _) = came_from[at];
            if name == to {
                let mut way = Vec::new();
                let mut step = Some(at);
                while let Some(at) = step {
                    way.push(came_from[at].0);
                    step = came_from[at].1;
                }
                way.reverse();
                return Some(way);
            }
            for next in uses.iter().filter(|next| next.user == name) {
                let known = came_from.iter().any(|(name, _)| *name == next.used);
                if !known && self.room(next.used).is_some() {
                    open.push_back(came_from.len());
                    came_from.push((next.used, Some(at)));
                }
            }
        }
        None
    }

    /// The room of a file; `None` for files in other folders and for those above the rooms.
    fn room<'f>(&self, name: &'f str) -> Option<&'f str> {
        let below = name.strip_prefix(self.folder)?.strip_prefix('/')?;
        let room = below.split(['/', '.']).next()?;
        let above = ["lib.rs", "main.rs", "mod.rs"].contains(&below) || below.starts_with("bin/");
        (!above).then_some(room)
    }

    fn floor(&self, room: &str) -> Option<usize> {
        self.floors.iter().position(|floor| floor.contains(&room))
    }
}

#[cfg(test)]
mod tests {
    use super::super::source::parse_all;
    use super::Order;

    fn findings(floors: &[&[&str]], files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<_> = files
            .iter()
            .map(|(name, text)| (format!("crates/a/src/{name}"), (*text).to_owned()))
            .collect();
        let order = Order {
            folder: "crates/a/src",
            floors,
        };
        let mut findings = Vec::new();
        let sources = parse_all(&files, &mut findings);
        order.check(&sources, &mut findings);
        findings
    }

    #[test]
    fn an_arrow_up_is_a_finding() {
        let files = [
            ("lib.rs", "mod low; mod high;"),
            ("low.rs", "\nuse crate::high::f;"),
            ("high/mod.rs", "pub fn f() {}"),
        ];
        assert_eq!(
            findings(&[&["low"], &["high"]], &files),
            [
                "crates/a/src/low.rs:2 uses crates/a/src/high/mod.rs: the room `low` stands below `high`"
            ]
        );
        assert_eq!(findings(&[&["high"], &["low"]], &files), [""; 0]);
        assert_eq!(findings(&[&["high", "low"]], &files), [""; 0]);
    }

    #[test]
    fn tests_do_not_count() {
        let files = [
            ("lib.rs", "mod low; mod high;"),
            (
                "low.rs",
                "#[cfg(test)] mod tests;\n#[cfg(test)] use crate::high::f;",
            ),
            ("low/tests.rs", "use crate::high::f;"),
            ("high.rs", "pub fn f() {}"),
        ];
        assert_eq!(findings(&[&["low"], &["high"]], &files), [""; 0]);
    }

    #[test]
    fn a_circle_on_one_floor_is_a_finding() {
        let files = [
            ("lib.rs", "mod a; mod b;"),
            ("a/mod.rs", "pub mod one; pub mod two;"),
            ("a/one.rs", "use crate::b::f;"),
            ("a/two.rs", "pub fn g() {}"),
            ("b.rs", "pub fn f() { crate::a::two::g() }"),
        ];
        assert_eq!(findings(&[&["a", "b"]], &files), [""; 0]);
        let mut files = files;
        files[3].1 = "pub fn g() { super::one::h() }";
        assert_eq!(
            findings(&[&["a", "b"]], &files),
            [
                "crates/a/src/a/one.rs:1 uses itself by way of another room: \
              crates/a/src/b.rs -> crates/a/src/a/two.rs -> crates/a/src/a/one.rs"
            ]
        );
    }

    #[test]
    fn each_room_has_a_floor_and_each_name_on_a_floor_is_a_room() {
        let files = [("lib.rs", "mod a;"), ("a.rs", "")];
        assert_eq!(
            findings(&[&["b"]], &files),
            [
                "crates/a/src: the room `a` is on no floor (xtask/src/tidy/rooms.rs)",
                "crates/a/src: the room `b` is on a floor but has no file (xtask/src/tidy/rooms.rs)"
            ]
        );
    }
}
