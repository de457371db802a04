/* SPDX-License-Identifier: Apache-2.0 */
// Qt has one application object and one default locale for the process, and loads its drivers as
// plug-ins.
#include <QtConcurrent/QtConcurrent>
#include <QtCore/QtCore>
#include <QtSql/QtSql>

#include "work.h"

int main(int argc, char **argv) {
  int rank = work_start(&argc, &argv), ticks = 0;
  QCoreApplication application(argc, argv);
  QCoreApplication::setApplicationName(QString("rank %1").arg(rank));
  QLocale::setDefault(QLocale(rank % 2 == 0 ? QLocale::German : QLocale::French));
  work_mix();
  QSqlDatabase base = QSqlDatabase::addDatabase("QSQLITE");
  base.setDatabaseName(":memory:");
  WORK(base.open());
  QSqlQuery query;
  WORK(query.exec("create table t(x integer)"));
  for (int i = 0; i < 40; i++) {
    query.prepare("insert into t values(?)");
    query.addBindValue(i * rank);
    WORK(query.exec());
    if (i % 20 == 0) work_mix();
  }
  WORK(query.exec("select sum(x) from t") && query.next());
  double sum = query.value(0).toDouble();
  QTimer timer;
  QObject::connect(&timer, &QTimer::timeout, [&] {
    if (++ticks == 3) QCoreApplication::exit(10 + rank);
  });
  timer.start(1);
  sum += 1000.0 * QCoreApplication::exec();
  work_mix();
  QVector<int> numbers(50, rank);
  std::function<int(int)> square = [](int x) { return x * x; };
  for (int number : QtConcurrent::blockingMapped(numbers, square)) sum += number;
  QString text = QLocale().toString(1234567.891, 'f', 2) + QCoreApplication::applicationName();
  for (QChar character : text) sum = sum * 1.01 + character.unicode();
  return work_end(sum);
}
