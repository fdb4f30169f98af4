//! A dataset: a folder with a folder for each table, which contains a folder for each rank
//! (`events/rank=17/part.parquet`). Numbers may have leading zeros.
//!
//! A table is opened when a query first names it, because a dataset of a thousand ranks has ten thousand files.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::exec_err;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{
    ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl,
};
use datafusion::datasource::{ViewTable, provider_as_source};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::{LogicalPlanBuilder, cast, ident};
use datafusion::parquet::file::reader::{FileReader as _, SerializedFileReader};
use url::Url;

/// The column whose value is in a folder's name.
const RANK: &str = "rank";

/// The extension of a table's files.
const PARQUET: &str = "parquet";

/// The folder of a packed dataset with the sources of its overview: a file for each snapshot, named like those with its rows
/// in the tables.
const PIECES: &str = "pieces";

/// The tables in a folder.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Dataset {
    folder: PathBuf,
    /// In alphabetical order.
    tables: Vec<String>,
}

impl Dataset {
    /// Finds the tables in a folder: those of its folders that have folders of ranks.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn find(folder: &Path) -> io::Result<Self> {
        let mut tables = Vec::new();
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            if !name.starts_with('.') && is_table(&entry.path())? {
                tables.push(name);
            }
        }
        tables.sort_unstable();
        let folder = fs::canonicalize(folder)?;
        Ok(Self { folder, tables })
    }

    /// The names of its tables.
    #[must_use]
    pub fn tables(&self) -> &[String] {
        &self.tables
    }

    /// A file of a table that belongs to no snapshot of a packed dataset, such as a copy.
    fn stray(&self, table: &str) -> Option<PathBuf> {
        let (folder, pieces) = (self.folder.join(table), self.folder.join(PIECES));
        let has_piece = |file: &PathBuf| {
            let place = file.strip_prefix(&folder);
            place.is_ok_and(|place| pieces.join(place).with_extension("vset").exists())
        };
        let files = entries(&folder).into_iter().flat_map(|rank| entries(&rank));
        let mut strays = files.filter(|file| is_parquet(file) && !has_piece(file));
        pieces.is_dir().then(|| strays.next())?
    }

    /// The first file of these tables that is not a complete Parquet file.
    pub(crate) fn damaged(&self) -> Option<(PathBuf, String)> {
        let folders = self.tables.iter().map(|table| self.folder.join(table));
        let ranks = folders.flat_map(|folder| entries(&folder));
        let files = ranks.flat_map(|rank| entries(&rank));
        let mut files = files.filter(|file| is_parquet(file));
        files.find_map(|path| {
            let file = fs::File::open(&path).ok()?;
            let reader = SerializedFileReader::new(file);
            let rows = reader.map(|reader| reader.metadata().file_metadata().num_rows());
            Some((path, rows.err()?.to_string()))
        })
    }
}

/// Whether a folder has a rank's folder with a Parquet file.
fn is_table(folder: &Path) -> io::Result<bool> {
    if !folder.is_dir() {
        return Ok(false);
    }
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let is_rank = name.to_string_lossy().starts_with("rank=");
        if is_rank && entries(&entry.path()).iter().any(|file| is_parquet(file)) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn is_parquet(file: &Path) -> bool {
    file.extension().is_some_and(|it| it == PARQUET)
}

/// The sorted entries of a folder; none if it cannot be read.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    paths.sort_unstable();
    paths
}

impl Dataset {
    /// A table for DataFusion, with the rank as its last column; `None` if there is none of this name.
    pub(crate) async fn open(
        &self,
        table: &str,
        session: &dyn Session,
    ) -> Result<Option<Arc<dyn TableProvider>>> {
        if !self.tables.iter().any(|known| known == table) {
            return Ok(None);
        }
        if let Some(stray) = self.stray(table) {
            return exec_err!(
                "{} is not of this dataset, and its rows would be counted with the others: move it elsewhere",
                stray.display()
            );
        }
        let folder = Url::from_directory_path(self.folder.join(table));
        let folder = folder.map_err(|()| {
            DataFusionError::Execution("the dataset's path is not absolute".to_owned())
        })?;
        // A path could be taken for a pattern that matches other paths.
        let folder = ListingTableUrl::try_new(folder, None)?;
        let format = ParquetFormat::default().with_enable_pruning(true);
        let options = ListingOptions::new(Arc::new(format))
            .with_file_extension(format!(".{PARQUET}"))
            .with_table_partition_cols(vec![(RANK.to_owned(), DataType::Utf8)]);
        let config = ListingTableConfig::new(folder).with_listing_options(options);
        let files = ListingTable::try_new(config.infer_schema(session).await?)?;
        let names = files.schema().fields().clone();
        // If the rank were a number, it would be searched only in the folder `rank=17`, not in `rank=00017`.
        let columns = names.iter().map(|field| match field.name().as_str() {
            RANK => cast(ident(RANK), DataType::Int64).alias(RANK),
            name => ident(name),
        });
        let files = provider_as_source(Arc::new(files));
        let view = LogicalPlanBuilder::scan(table, files, None)?.project(columns)?;
        Ok(Some(Arc::new(ViewTable::new(view.build()?, None))))
    }
}
