//! awa_drain URL JOBS WORKERS: stores a backlog of jobs that do nothing with awa, then measures how fast its
//! client completes them. As in awa's own benchmark: its queue storage, and jobs without a deadline. Prints one
//! line of JSON.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use awa::{
    Client, InsertOpts, JobArgs, JobContext, JobError, JobResult, QueueConfig, QueueStorage, QueueStorageConfig, Worker,
};
use serde::{Deserialize, Serialize};
use sqlx::postgres::{PgPool, PgPoolOptions};

const QUEUE: &str = "noop";
const TEXT_BYTES: usize = 1000;
const BATCH: usize = 500;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

static PERFORMED: AtomicI64 = AtomicI64::new(0);

#[derive(Debug, Serialize, Deserialize, JobArgs)]
struct Noop {
    text: String,
}

struct NoopWorker;

#[async_trait::async_trait]
impl Worker for NoopWorker {
    fn kind(&self) -> &'static str {
        "noop"
    }
    async fn perform(&self, _: &JobContext) -> Result<JobResult, JobError> {
        PERFORMED.fetch_add(1, Ordering::Relaxed);
        Ok(JobResult::Completed)
    }
}

async fn install(pool: &PgPool) -> Outcome<(QueueStorage, QueueStorageConfig)> {
    awa::migrations::run(pool).await?;
    let config = QueueStorageConfig::default();
    let store = QueueStorage::new(config.clone())?;
    store.install(pool).await?;
    Ok((store, config))
}

// The exact count scans tables, so it is asked for only at the end.
async fn wait_for(store: &QueueStorage, pool: &PgPool, jobs: i64) -> Outcome<()> {
    while PERFORMED.load(Ordering::Relaxed) < jobs {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    while store.queue_counts(pool, QUEUE).await?.terminal < jobs {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

#[tokio::main]
async fn main() -> Outcome<()> {
    let words: Vec<String> = std::env::args().collect();
    let (url, jobs, workers) = (&words[1], words[2].parse::<i64>()?, words[3].parse::<u32>()?);
    let pool = PgPoolOptions::new().max_connections(20).connect(url).await?;
    let (store, config) = install(&pool).await?;
    let text = "x".repeat(TEXT_BYTES);
    let one = awa::model::insert::params_with(
        &Noop { text },
        InsertOpts { queue: QUEUE.into(), ..Default::default() },
    )?;
    for first in (0..jobs as usize).step_by(BATCH) {
        let count = BATCH.min(jobs as usize - first);
        store.enqueue_params_copy(&pool, &vec![one.clone(); count]).await?;
    }
    let client = Client::builder(pool.clone())
        .queue(
            QUEUE,
            QueueConfig {
                max_workers: workers,
                poll_interval: Duration::from_millis(50),
                deadline_duration: Duration::ZERO,
                ..QueueConfig::default()
            },
        )
        .queue_storage(config, Duration::from_millis(1000), Duration::from_millis(50))
        .register_worker(NoopWorker)
        .build()?;
    let began = Instant::now();
    client.start().await?;
    wait_for(&store, &pool, jobs).await?;
    let seconds = began.elapsed().as_secs_f64();
    client.shutdown(Duration::from_secs(5)).await;
    println!("{{\"jobs\":{jobs},\"seconds\":{seconds:.4},\"per_second\":{:.1}}}", jobs as f64 / seconds);
    Ok(())
}
