"""A classifier of scikit-learn's kind whose inputs are its probabilities, so that MAPIE can be handed any."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin


class Given(ClassifierMixin, BaseEstimator):
    def fit(self, x, y):
        self.classes_ = np.arange(x.shape[1])
        self.fitted_ = True
        return self

    def predict_proba(self, x):
        return x

    def predict(self, x):
        return x.argmax(1)
