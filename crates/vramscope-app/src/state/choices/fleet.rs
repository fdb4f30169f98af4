//! The user's choices for a fleet.

use serde::{Deserialize, Serialize};
use vramscope_protocol::views::fleet::{Along, Memory, Order};

/// The choices for a fleet, kept in the address.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FleetChoices {
    pub memory: Memory,
    pub along: Along,
    pub order: Order,
    /// Whether the table is of call sites, not of ranks.
    pub sites: bool,
    /// The chosen rank, by its place in the file.
    pub rank: Option<u32>,
    /// The text of the fleet's search box.
    pub search: String,
}

impl FleetChoices {
    /// The same with another chosen rank.
    #[must_use]
    pub fn with_rank(self, rank: u32) -> Self {
        Self {
            rank: Some(rank),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use yew::Reducible;

    use super::*;
    use crate::engine::SessionId;
    use crate::state::keys::{Command, Press, command};
    use crate::state::{Action, Chosen, Permalink, Shared, State, ViewKind, permalink};
    use vramscope_protocol::Reply;
    use vramscope_protocol::views::fleet::FleetFile;

    fn with_fleet() -> Rc<State> {
        let id = SessionId(1);
        let open = Action::Open {
            id,
            name: "overview.vset".to_owned(),
            linked_host: None,
            served: None,
        };
        let opened = Reply::OpenedFleet(FleetFile {
            file_bytes: 4_096,
            ranks: 8,
            read_ms: 1.0,
        });
        let state = Rc::new(State::default()).reduce(open);
        state.reduce(Action::Reply(id, Shared::new(opened)))
    }

    fn act(state: &Rc<State>, key: &str) -> Option<Command> {
        let press = Press {
            key: key.to_owned(),
            ..Press::default()
        };
        command(&press, state)
    }

    #[test]
    fn the_address_keeps_what_is_chosen() {
        let choices = FleetChoices {
            memory: Memory::Reserved,
            along: Along::Step,
            order: Order::Odd,
            sites: true,
            rank: Some(5),
            search: "node1 odd".to_owned(),
        };
        let chosen = Action::Choose(Chosen::Fleet(choices.clone()));
        // What is chosen for snapshots is none of a fleet's business.
        let state = with_fleet()
            .reduce(Action::View(ViewKind::Flame))
            .reduce(Action::Search("frame:attention".to_owned()));
        let link = permalink(&state.clone().reduce(chosen)).unwrap();
        let text = link.to_text();
        let mut words: Vec<&str> = text.split('&').collect();
        words.sort_unstable();
        assert_eq!(
            words,
            [
                "file=overview.vset~4096",
                "fleet.along=step",
                "fleet.memory=reserved",
                "fleet.order=odd",
                "fleet.rank=5",
                "fleet.search=%27node1%20odd%27",
                "fleet.sites=!t",
                "v=1"
            ]
        );
        let link = Permalink::parse(&text).unwrap();
        let restored = state.reduce(Action::Restore(Box::new(link.clone())));
        assert_eq!(restored.choices.fleet, choices);
        assert_eq!(restored.view, ViewKind::Flame);
        assert_eq!(restored.search.text, "frame:attention");
        assert_eq!(permalink(&restored), Some(link));
    }

    #[test]
    fn keys_search_and_let_go_and_touch_no_snapshot() {
        let state = with_fleet();
        assert_eq!(act(&state, "/"), Some(Command::FocusSearch));
        for of_snapshots in ["1", "p", "t", "n"] {
            assert_eq!(act(&state, of_snapshots), None);
        }
        let chosen = FleetChoices {
            rank: Some(3),
            ..FleetChoices::default()
        };
        let state = state.reduce(Action::Choose(Chosen::Fleet(chosen)));
        assert_eq!(state.choices.fleet.rank, Some(3));
        let Some(Command::Act(action)) = act(&state, "Escape") else {
            panic!("Escape does nothing");
        };
        assert_eq!(state.reduce(action).choices.fleet.rank, None);
    }
}
