//! The engine: DataFusion with bounded memory, over one dataset.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::common::plan_err;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::memory_pool::{FairSpillPool, TrackConsumersPool};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::logical_expr::LogicalPlan;
use datafusion::prelude::{DataFrame, SQLOptions, SessionConfig, SessionContext};
use futures_util::StreamExt as _;
use tokio::runtime::Runtime;

use crate::answer::Answer;
use crate::dataset::Dataset;
use crate::error::{Cause, Error};
use crate::exact;

/// The SQL dialect. PostgreSQL's is closest to what most people know.
const DIALECT: &str = "postgresql";

/// The longest query, in bytes. Plans are processed recursively, and planning takes time quadratic in a query's length:
/// twice as many `or` take four times as long.
const LONGEST_SQL: usize = 8 << 10;

/// Stack size of a thread, for the deepest query of that length.
const STACK_BYTES: usize = 128 << 20;

/// The name of the engine's threads.
pub const THREADS: &str = "vramscope-sql";

/// Number of memory consumers that an error lists.
const NAMED: NonZeroUsize = NonZeroUsize::new(3).expect("three is not zero");

/// Memory that a thread reserves for merging spilled data, unless that exceeds its share: DataFusion's default.
const MERGE_BYTES: usize = 10 << 20;

/// Rows per batch if memory is short. All spilled files are merged at once, each with a batch in memory.
const FEW_ROWS: usize = 1 << 10;

/// Limits for the engine.
#[derive(Clone)]
pub struct Settings {
    /// The most memory that queries may hold, in bytes. Beyond that they spill to disk. DataFusion does not count the
    /// results of functions such as `repeat`.
    pub memory_bytes: u64,
    /// An existing folder for spilled data.
    pub spill: PathBuf,
    /// Number of threads.
    pub threads: NonZeroUsize,
}

/// Answers SQL about a dataset.
pub struct Engine {
    runtime: Runtime,
    context: SessionContext,
    dataset: Dataset,
    settings: Settings,
}

impl Engine {
    /// Prepares an engine. No file is read yet.
    ///
    /// # Errors
    /// If threads cannot be started or the folder for spilled data cannot be used.
    pub fn new(dataset: Dataset, settings: &Settings) -> Result<Self, Error> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(settings.threads.get())
            .thread_name(THREADS)
            .thread_stack_size(STACK_BYTES)
            .build()
            .map_err(|error| Error::of(DataFusionError::IoError(error), ""))?;
        let context =
            context(settings, SessionConfig::new()).map_err(|error| Error::of(error, ""))?;
        Ok(Self {
            runtime,
            context,
            dataset,
            settings: settings.clone(),
        })
    }

    /// Answers a query. Rows are computed while they are taken from the answer. A query that needs too much memory before
    /// its first row is tried again with less, which takes longer.
    ///
    /// # Errors
    /// If the SQL is wrong, would write something, needs too much memory, or its tables cannot be read.
    pub fn ask(&self, sql: &str) -> Result<Answer<'_>, Error> {
        let mut begun = self.begin(self.context.clone(), sql);
        if begun
            .as_ref()
            .is_err_and(|error| Cause::of(error) == Cause::Memory)
        {
            begun = frugal(&self.settings).and_then(|context| self.begin(context, sql));
        }
        let (first, others) = begun.map_err(|error| self.explained(error, sql))?;
        Ok(Answer::of(self, first, others))
    }

    /// The first rows of an answer, if it has any, and the rest.
    fn begin(&self, context: SessionContext, sql: &str) -> Result<Begun> {
        let (asked, sql) = (self.planner(context), sql.to_owned());
        self.in_task(async move {
            let mut batches = asked.plan(&sql).await?.execute_stream().await?;
            let first = batches.next().await.transpose()?;
            Ok((first, batches))
        })
    }

    /// The plan of a query as lines: which files are read, what is pruned, and the steps.
    ///
    /// # Errors
    /// See [`Self::ask`].
    pub fn explain(&self, sql: &str) -> Result<Vec<String>, Error> {
        let (asked, sql_text) = (self.planner(self.context.clone()), sql.to_owned());
        let lines = self.in_task(async move {
            let plan = asked.plan(&sql_text).await?.create_physical_plan().await?;
            let shown = datafusion::physical_plan::displayable(plan.as_ref());
            let text = shown.indent(false).to_string();
            Ok(text.lines().map(str::to_owned).collect())
        });
        lines.map_err(|error| self.explained(error, sql))
    }

    /// The error for the user. Searches for a damaged file, because DataFusion does not name it.
    pub(crate) fn explained(&self, error: DataFusionError, sql: &str) -> Error {
        let mut error = Error::of(error, sql);
        if error.cause == Cause::Files
            && let Some((path, why)) = self.dataset.damaged()
        {
            error.message = format!("{} is damaged: {why}", path.display());
            error.advice = vec![
                "`vramscope fleet pack` with the same snapshots and dataset writes it again."
                    .to_owned(),
            ];
        }
        if error.is_unknown_table() {
            error.suggest("tables", self.dataset.tables());
        }
        error
    }

    pub(crate) fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// Runs a future on a thread of the engine, whose stack is large enough for deep queries.
    fn in_task<T: Send + 'static>(
        &self,
        task: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        let done = self.runtime.block_on(self.runtime.spawn(task));
        done.unwrap_or_else(|error| Err(DataFusionError::ExecutionJoin(Box::new(error))))
    }

    fn planner(&self, context: SessionContext) -> Planner {
        Planner {
            context,
            dataset: self.dataset.clone(),
        }
    }
}

/// The first rows of an answer, and the rest.
type Begun = (Option<RecordBatch>, SendableRecordBatchStream);

/// Everything needed to plan a query.
struct Planner {
    context: SessionContext,
    dataset: Dataset,
}

impl Planner {
    /// Opens the tables that a query names, and plans it.
    async fn plan(&self, sql: &str) -> Result<DataFrame> {
        if sql.len() > LONGEST_SQL {
            return plan_err!(
                "the SQL has {} bytes, and at most {LONGEST_SQL} are read: put long lists into a table, or ask in several queries",
                sql.len()
            );
        }
        let state = self.context.state();
        let dialect = state.config_options().sql_parser.dialect;
        let statement = state.sql_to_statement(sql, &dialect)?;
        for reference in state.resolve_table_references(&statement)? {
            let all = self.dataset.tables().to_vec();
            let names = match reference.schema() {
                Some("information_schema") => all,
                _ => vec![reference.table().to_owned()],
            };
            for name in names {
                if !self.context.table_exist(name.as_str())?
                    && let Some(table) = self.dataset.open(&name, &state).await?
                {
                    self.context.register_table(name.as_str(), table)?;
                }
            }
        }
        let plan = self.context.state().statement_to_plan(statement).await?;
        only_reads(&plan)?;
        Ok(DataFrame::new(self.context.state(), plan))
    }
}

fn only_reads(plan: &LogicalPlan) -> Result<()> {
    SQLOptions::new()
        .with_allow_ddl(false)
        .with_allow_dml(false)
        .with_allow_statements(false)
        .verify_plan(plan)
}

/// A context whose queries need as little memory as possible: parallel parts of a query do not share memory well.
fn frugal(settings: &Settings) -> Result<SessionContext> {
    let alone = Settings {
        threads: NonZeroUsize::MIN,
        ..settings.clone()
    };
    context(&alone, SessionConfig::new().with_batch_size(FEW_ROWS))
}

fn context(settings: &Settings, config: SessionConfig) -> Result<SessionContext> {
    let bytes = usize::try_from(settings.memory_bytes).unwrap_or(usize::MAX);
    let threads = settings.threads.get();
    let mut config = config
        .with_target_partitions(threads)
        // Each thread reserves this much; the default alone would exceed a small limit.
        .with_sort_spill_reservation_bytes((bytes / threads / 16).min(MERGE_BYTES))
        .with_information_schema(true)
        .with_collect_statistics(true);
    let parser = &mut config.options_mut().sql_parser;
    parser.collect_spans = true;
    parser.dialect = DIALECT.parse()?;
    let pool = TrackConsumersPool::new(FairSpillPool::new(bytes), NAMED);
    let runtime = RuntimeEnvBuilder::new()
        .with_memory_pool(Arc::new(pool))
        .with_temp_file_path(&settings.spill)
        .build_arc()?;
    let mut context = SessionContext::new_with_config_rt(config, runtime);
    exact::make(&mut context)?;
    Ok(context)
}
