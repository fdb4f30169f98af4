//! The table as a CSV file. It is requested in pieces, so that no large text is in memory at once.

use js_sys::Array;
use vramscope_protocol::views::table::{Answer, MOST_CSV_ROWS, Question, TableOrder};
use web_sys::{Blob, BlobPropertyBag};
use yew::prelude::*;

use super::super::hooks::use_answer;
use super::super::icons::{Glyph, Icon};
use crate::browser::download;
use crate::engine::Session;

#[derive(Properties, PartialEq)]
pub(super) struct CsvButtonProps {
    pub(super) session: Session,
    pub(super) order: TableOrder,
    /// The file's name.
    pub(super) name: String,
}

/// Downloads the table as filtered and sorted.
#[component]
pub(super) fn CsvButton(props: &CsvButtonProps) -> Html {
    let wanted = use_state_eq(|| None::<(TableOrder, u32)>);
    let pieces = use_mut_ref(Array::new);
    let question = (*wanted).clone().map(|(order, first)| Question::Csv {
        order,
        first,
        count: MOST_CSV_ROWS,
    });
    let answered = use_answer(&props.session, question.clone());
    let piece = answered.filter(|answered| Some(&answered.question) == question.as_ref());
    let all_rows = piece
        .as_ref()
        .and_then(|piece| match **piece.answer.as_ref()? {
            Answer::Csv { all_rows } => Some(all_rows),
            Answer::Rows(_) => None,
        });
    {
        let (wanted, pieces, name) = (wanted.clone(), pieces.clone(), file_name(&props.name));
        let first = wanted.as_ref().map(|(_, first)| *first);
        use_effect_with((first, piece.is_some()), move |&(first, is_there)| {
            let asked = (*wanted).clone().filter(|_| is_there && first.is_some());
            let Some((order, first)) = asked else {
                return;
            };
            let Some(piece) = piece.as_ref().filter(|piece| piece.answer.is_some()) else {
                // An incomplete table is not saved.
                wanted.set(None);
                return;
            };
            pieces.borrow().push(&piece.attachment);
            let next = first.saturating_add(MOST_CSV_ROWS);
            if all_rows.is_some_and(|all_rows| next < all_rows) {
                wanted.set(Some((order, next)));
                return;
            }
            save(&name, &pieces.borrow());
            wanted.set(None);
        });
    }
    let onclick = {
        let (wanted, order) = (wanted.clone(), props.order.clone());
        Callback::from(move |_: MouseEvent| {
            pieces.replace(Array::new());
            wanted.set(Some((order.clone(), 0)));
        })
    };
    html! {
        <button type="button" class="outlined" title="Download what is shown, with all columns" disabled={wanted.is_some()} {onclick}>
            <Glyph icon={Icon::Download} />{ "CSV" }
        </button>
    }
}

fn save(name: &str, pieces: &Array) {
    let options = BlobPropertyBag::new();
    options.set_type("text/csv;charset=utf-8");
    if let Ok(blob) = Blob::new_with_buffer_source_sequence_and_options(pieces, &options) {
        download::save_blob(name, &blob);
    }
}

/// `snapshot.pickle` as `snapshot.csv`.
fn file_name(name: &str) -> String {
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    format!("{stem}.csv")
}
