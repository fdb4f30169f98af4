//! The user's choices in the what-if view.

use serde::{Deserialize, Serialize};
use vramscope_plan::StepKind;
use vramscope_plan::allocator_model::ModelSettings;

use crate::state::typed_size::unclear;

/// The choices in the what-if view, kept in the address.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct WhatIfChoices {
    /// The panel that is shown.
    pub panel: WhatIfPanel,
    /// The bar that is explained; `None` = the one that adds the most.
    pub step: Option<StepKind>,
    /// The settings that the trace is replayed with.
    pub settings: SettingChanges,
}

/// A panel of the view, in the order of its buttons.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WhatIfPanel {
    /// Changes of the program, and the cards that suffice for each.
    #[default]
    Program,
    /// Replays of the allocator with other settings.
    Settings,
    /// The steps from ideal to real, and the ideal packing beside the memory map.
    Packing,
    /// Figures by pool and stream.
    Places,
}

/// Settings of the allocator that differ from the file's, as the user typed them; empty = as recorded.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SettingChanges {
    /// Whether segments are expandable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expandable_segments: Option<bool>,
    /// The largest size of blocks that may be split, in MiB.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub max_split_size_mb: String,
    /// The number of parts into which a power of two is divided for rounding.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub roundup_power2_divisions: String,
    /// The share of the limit above which cached segments are freed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub garbage_collection_threshold: String,
    /// The size of segments for requests of 1 to 10 MiB, in MiB.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub large_segment_size_mb: String,
    /// The share of the device's memory that the allocator may take.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub per_process_memory_fraction: String,
    /// The device's memory.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub capacity: String,
}

/// A setting with a field to type it in.
pub struct Field {
    /// Torch's name for it, or vramscope's if torch has none.
    pub key: &'static str,
    /// The placeholder of the empty field.
    pub example: &'static str,
    /// The effect of the setting, as a sentence.
    pub meaning: &'static str,
}

/// All settings with a field, in their order.
pub const FIELDS: [Field; 6] = [
    Field {
        key: "max_split_size_mb",
        example: "e.g. 128",
        meaning: "Free blocks larger than so many MiB are not split, so that they stay whole for large requests",
    },
    Field {
        key: "roundup_power2_divisions",
        example: "e.g. 4",
        meaning: "Requests are rounded up to the next of so many steps between two powers of two, so that freed blocks fit more often",
    },
    Field {
        key: "garbage_collection_threshold",
        example: "e.g. 0.8",
        meaning: "From this share of the memory limit on, old free segments go back to the device before new ones are asked for",
    },
    Field {
        key: "large_segment_size_mb",
        example: "20",
        meaning: "What is asked of the device for requests between 1 and 10 MiB",
    },
    Field {
        key: "per_process_memory_fraction",
        example: "e.g. 0.9",
        meaning: "The share of the memory that the allocator lets itself take; without one no garbage is collected",
    },
    Field {
        key: "capacity",
        example: "no limit",
        meaning: "How much memory CUDA has for this process, as 24 GiB: beyond it cached segments are given back, and then requests fail",
    },
];

impl SettingChanges {
    /// The changes of a suggestion, such as `expandable_segments:True,large_segment_size_mb:64`.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let pairs = text.split(',').filter_map(|pair| pair.split_once(':'));
        pairs.fold(Self::default(), |changes, (key, value)| {
            match FIELDS.iter().position(|field| field.key == key) {
                Some(place) => changes.with_field(place, value),
                None => Self {
                    expandable_segments: Some(value == "True"),
                    ..changes
                },
            }
        })
    }

    /// The text of a field.
    #[must_use]
    pub fn field(&self, place: usize) -> &str {
        match place {
            0 => &self.max_split_size_mb,
            1 => &self.roundup_power2_divisions,
            2 => &self.garbage_collection_threshold,
            3 => &self.large_segment_size_mb,
            4 => &self.per_process_memory_fraction,
            _ => &self.capacity,
        }
    }

    /// The changes with another text in a field.
    #[must_use]
    pub fn with_field(&self, place: usize, text: &str) -> Self {
        let mut changed = self.clone();
        let field = match place {
            0 => &mut changed.max_split_size_mb,
            1 => &mut changed.roundup_power2_divisions,
            2 => &mut changed.garbage_collection_threshold,
            3 => &mut changed.large_segment_size_mb,
            4 => &mut changed.per_process_memory_fraction,
            _ => &mut changed.capacity,
        };
        text.trim().clone_into(field);
        changed
    }

    /// Whether the text of a field is invalid by itself.
    #[must_use]
    pub fn is_wrong(&self, place: usize) -> bool {
        let (key, value) = (FIELDS[place].key, self.field(place));
        // A share lies between 0 and 1.
        let text = format!("capacity:1TiB,{key}:{value}");
        let is_refused = || ModelSettings::default().with_changes(&text).is_err();
        !value.is_empty() && (is_refused() || key == "capacity" && unclear(value).is_some())
    }

    /// All settings as torch reads them, with the divisions as they were typed: the model spells each of them out.
    #[must_use]
    pub fn as_typed(&self, settings: &str) -> String {
        const KEY: &str = "roundup_power2_divisions:";
        let typed = self.roundup_power2_divisions.replace(' ', "");
        let parts = settings.split_once(&format!("{KEY}["));
        let parts = parts.and_then(|(before, rest)| Some((before, rest.split_once(']')?.1)));
        match parts {
            Some((before, after)) if !typed.is_empty() => format!("{before}{KEY}{typed}{after}"),
            _ => settings.to_owned(),
        }
    }

    /// The changes in the syntax of `PYTORCH_CUDA_ALLOC_CONF`. The memory limit is first, as a share of it may follow.
    #[must_use]
    pub fn text(&self) -> String {
        let expandable = self.expandable_segments.map(|is_on| {
            let value = if is_on { "True" } else { "False" };
            format!("expandable_segments:{value}")
        });
        let typed = (0..FIELDS.len()).rev().filter_map(|place| {
            let value = self.field(place);
            (!value.is_empty()).then(|| format!("{}:{value}", FIELDS[place].key))
        });
        let parts: Vec<String> = typed.chain(expandable).collect();
        parts.join(",")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_fields_are_told_from_right_ones() {
        let wrong = |place, text| {
            SettingChanges::default()
                .with_field(place, text)
                .is_wrong(place)
        };
        let right = ["128", "[256:1,512:2,>:4]", "0.8", "64", "0.5", "24GiB"];
        for (place, text) in right.into_iter().enumerate() {
            assert!(!wrong(place, text), "{text}");
            assert!(!wrong(place, ""), "{place}");
            assert!(wrong(place, "lots"), "{place}");
        }
        assert!(wrong(5, "24"));
        assert!(wrong(5, "24GB"));
    }

    #[test]
    fn divisions_are_shown_as_they_were_typed() {
        let typed = SettingChanges::default().with_field(1, "[256:1, 512:2,>:4]");
        let settings = ModelSettings::default()
            .with_changes(&typed.text())
            .unwrap();
        let shown = typed.as_typed(&format!("{},max_split_size_mb:64", settings.conf()));
        assert_eq!(
            shown,
            "roundup_power2_divisions:[256:1,512:2,>:4],max_split_size_mb:64"
        );
        assert_eq!(typed.with_field(1, "").as_typed("a:b"), "a:b");
    }

    #[test]
    fn what_is_typed_becomes_the_variables_text() {
        let none = SettingChanges::default();
        assert_eq!(none.text(), "");
        let mut all = SettingChanges {
            expandable_segments: Some(false),
            ..none
        };
        for (place, value) in ["128", " 4 ", "0.8", "", "0.9", "24GiB"].iter().enumerate() {
            all = all.with_field(place, value);
        }
        assert_eq!(
            all.text(),
            "capacity:24GiB,per_process_memory_fraction:0.9,garbage_collection_threshold:0.8,roundup_power2_divisions:4,max_split_size_mb:128,expandable_segments:False"
        );
        assert_eq!(SettingChanges::of(&all.text()), all);
        for (place, field) in FIELDS.iter().enumerate() {
            assert!(
                all.with_field(place, "x")
                    .text()
                    .contains(&format!("{}:x", field.key))
            );
        }
    }
}
