//! Checks the order of rooms: which modules of a crate may use which others.
//!
//! A room is a top-level module of a crate, or of a folder that is declared here. Rooms stand on floors. A room may use
//! the rooms on floors below. A crate's root and a `mod.rs` above rooms belong to no room: they may use everything.
//!
//! Uses are found in the text: paths that begin with `crate` or `super`. Re-exports are not followed.
//!
//! The order of crates is in `tidy`, because cargo knows their dependencies.

use std::collections::BTreeSet;

use super::source::Source;

/// The order of the rooms in a folder.
struct Order<'a> {
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
                "floats",
                "ids",
                "known_ranges",
                "limits",
                "sorting",
                "units",
            ],
            &["budget", "cards"],
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
            &["parts"],
            &["protocol"],
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
            &["page", "progress"],
            &["output"],
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
                "colour_spaces",
                "coverage",
                "display",
                "editor",
                "scroll",
                "shortened",
                "steps",
                "viewport",
                "views",
            ],
            &["theme"],
            &["colour"],
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
                "line_facts",
            ],
            &["header", "lines"],
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
            &["launch", "log_folder", "output"],
            &["destination"],
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
            &["driver", "unwinder"],
            &["hook"],
            &["log"],
            &["ranges", "stack"],
            &["parts"],
            &["api", "hooks", "nvtx"],
            &["linker", "process"],
        ],
    },
];

/// Checks all orders.
pub(super) fn check(sources: &[Source], findings: &mut Vec<String>) {
    for order in &ORDERS {
        order.check(sources, findings);
    }
}

impl Order<'_> {
    fn check(&self, sources: &[Source], findings: &mut Vec<String>) {
        let listed: BTreeSet<_> = self.floors.iter().copied().flatten().copied().collect();
        let mut rooms = BTreeSet::new();
        for source in sources.iter().filter(|source| !source.is_test) {
            let Some(from) = self.room(source.name) else {
                continue;
            };
            rooms.insert(from);
            for (line, to) in self.used_rooms(source) {
                if to != from && self.floor(&to) >= self.floor(from) {
                    findings.push(format!(
                        "{}:{line} uses {to}: the room `{from}` does not stand above `{to}`",
                        source.name
                    ));
                }
            }
        }
        for room in rooms.symmetric_difference(&listed) {
            findings.push(format!(
                "{}: the room `{room}` {} (xtask/src/tidy/rooms.rs)",
                self.folder,
                match listed.contains(room) {
                    true => "is on a floor but has no file",
                    false => "is on no floor",
                }
            ));
        }
    }

    /// The room of a file; `None` for files in other folders and for those above the rooms.
    fn room<'f>(&self, name: &'f str) -> Option<&'f str> {
        let below = name.strip_prefix(self.folder)?.strip_prefix('/')?;
        let above = ["lib.rs", "main.rs", "mod.rs"].contains(&below) || below.starts_with("bin/");
        let room = below.split(['/', '.']).next()?;
        (!above).then_some(room)
    }

    fn floor(&self, room: &str) -> Option<usize> {
        self.floors.iter().position(|floor| floor.contains(&room))
    }

    /// The rooms of this order that a file names, each with the line.
    fn used_rooms(&self, source: &Source) -> Vec<(usize, String)> {
        let Some((_, folder)) = self.folder.split_once("/src") else {
            return Vec::new();
        };
        let folder: Vec<_> = folder.split('/').skip(1).collect();
        let paths = paths(source).into_iter();
        let rooms = paths.filter_map(|(line, path)| {
            let mut below = path.iter();
            let is_here = folder.iter().all(|name| below.next() == Some(name));
            let room = below.next().filter(|_| is_here)?;
            Some((line, (*room).to_owned()))
        });
        rooms
            .filter(|(_, room)| self.floor(room).is_some())
            .collect()
    }
}

/// The paths in a file that begin with `crate` or `super`, from the crate's root.
fn paths<'a>(source: &Source<'a>) -> Vec<(usize, Vec<&'a str>)> {
    let (_, below) = source.name.split_once("/src/").unwrap_or_default();
    let mut module: Vec<_> = below.trim_end_matches(".rs").split('/').collect();
    if let Some("lib" | "main" | "mod") = module.last().copied() {
        module.pop();
    }
    let mut found = Vec::new();
    // Where a group is open, the path before its brace.
    let mut open: Option<(usize, Vec<&str>)> = None;
    for (line, text) in source.code() {
        let mut words = words(text).into_iter().peekable();
        while let Some(word) = words.next() {
            match (&mut open, word) {
                (Some((depth, _)), "{") => *depth += 1,
                (Some((depth, _)), "}") => {
                    *depth -= 1;
                    open = open.filter(|(depth, _)| *depth > 0);
                }
                (Some((1, before)), name) if is_name(name) => {
                    let path = before.iter().copied().chain([name]);
                    let mut path: Vec<_> = path.collect();
                    while words.next_if_eq(&"::").is_some() {
                        path.extend(words.next_if(|word| is_name(word)));
                    }
                    found.push((line, path));
                }
                (None, "crate" | "super") if words.peek() == Some(&"::") => {
                    let mut path = module.clone();
                    match word {
                        "crate" => path.clear(),
                        _ => drop(path.pop()),
                    }
                    while words.next_if_eq(&"::").is_some() {
                        match words.next() {
                            Some("super") => drop(path.pop()),
                            Some("{") => open = Some((1, path.clone())),
                            Some(name) if is_name(name) => path.push(name),
                            _ => {}
                        }
                    }
                    found.push((line, path));
                }
                _ => {}
            }
        }
    }
    found
}

fn is_name(word: &str) -> bool {
    word.starts_with(|sign: char| sign.is_alphabetic() || sign == '_')
}

/// Names, `::`, and single other signs.
fn words(mut text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    while let Some(first) = text.chars().next() {
        let end = match first {
            ':' if text.starts_with("::") => 2,
            _ if first.is_alphanumeric() || first == '_' => text
                .find(|sign: char| !sign.is_alphanumeric() && sign != '_')
                .unwrap_or(text.len()),
            _ => first.len_utf8(),
        };
        words.push(&text[..end]);
        text = text[end..].trim_start();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::super::source::read_all;
    use super::Order;

    fn findings(floors: &[&[&str]], files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<_> = files
            .iter()
            .map(|(name, text)| (format!("crates/a/src/{name}"), (*text).to_owned()))
            .collect();
        let mut findings = Vec::new();
        let order = Order {
            folder: "crates/a/src",
            floors,
        };
        order.check(&read_all(&files), &mut findings);
        findings
    }

    #[test]
    fn an_arrow_up_or_aside_is_a_finding() {
        for text in [
            "\nuse crate::high::f;",
            "\nfn f() { crate::high::f() }",
            "\nuse super::{high::f, low::g};",
            "use crate::{\n    high::{f, g}, low};",
        ] {
            let files = [
                ("lib.rs", "mod low; mod high;"),
                ("low.rs", text),
                ("high/mod.rs", "pub fn f() {}"),
            ];
            let up = "crates/a/src/low.rs:2 uses high: the room `low` does not stand above `high`";
            assert_eq!(findings(&[&["low"], &["high"]], &files), [up], "{text}");
            assert_eq!(findings(&[&["high", "low"]], &files), [up], "{text}");
            assert_eq!(findings(&[&["high"], &["low"]], &files), [""; 0], "{text}");
        }
    }

    #[test]
    fn a_file_deep_in_a_room_reaches_others_by_its_ancestors() {
        let files = [
            ("low/deep/er.rs", "use super::super::super::high::f;"),
            ("low/deep/fine.rs", "use super::super::high::f;"),
            ("high.rs", "pub fn f() {}"),
        ];
        assert_eq!(findings(&[&["low"], &["high"]], &files).len(), 1);
    }

    #[test]
    fn tests_and_comments_do_not_count() {
        let files = [
            ("lib.rs", "mod low; mod high;"),
            (
                "low.rs",
                "//! [`crate::high`]\n#[cfg(test)]\nmod tests;\n#[cfg(test)]\nuse crate::high::f;",
            ),
            ("low/tests.rs", "use crate::high::f;"),
            ("high.rs", "pub fn f() {}"),
        ];
        assert_eq!(findings(&[&["low"], &["high"]], &files), [""; 0]);
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
